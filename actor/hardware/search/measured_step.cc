#include "actor/hardware/search/measured_step.h"

#include <utility>
#include <vector>

#include "common/quantile.h"

namespace emplace {
namespace {

constexpr size_t kEnoughSteps = 3;

std::vector<double> UndisturbedUs(const StepSeries& series) {
  std::vector<double> us;
  for (size_t step = 0; step < series.preemptions.size(); ++step) {
    if (series.preemptions[step] == 0) us.push_back(series.us[step]);
  }
  return us;
}

// Step times of reference and placement, in us.
std::pair<double, double> StepTimesOf(const StepSamples& samples) {
  const auto& [reference, placement] = samples;
  std::vector<double> of_reference = UndisturbedUs(reference);
  std::vector<double> of_placement = UndisturbedUs(placement);
  if (of_reference.size() >= kEnoughSteps && of_placement.size() >= kEnoughSteps) {
    return {Median(std::move(of_reference)), Median(std::move(of_placement))};
  }
  if (reference.replayed_us > 0 && placement.replayed_us > 0) return {reference.replayed_us, placement.replayed_us};
  return {Median(reference.us), Median(placement.us)};
}

}  // namespace

MeasuredStep MeasuredStepOf(StepSamples samples) {
  const auto [reference_us, placement_us] = StepTimesOf(samples);
  return {.ratio = placement_us / reference_us,
          .reference_us = reference_us,
          .reference_parts = std::move(samples.reference.parts),
          .placement_parts = std::move(samples.placement.parts)};
}

}  // namespace emplace
