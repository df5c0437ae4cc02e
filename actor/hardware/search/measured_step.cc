#include "actor/hardware/search/measured_step.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/quantile.h"

namespace emplace {
namespace {

constexpr size_t kEnoughSteps = 3;

}  // namespace

double LeastDisturbedUs(const StepSeries& series) {
  if (series.preemptions.size() <= kEnoughSteps) return Quantile(series.us, 0.5);
  std::vector<int64_t> ascending = series.preemptions;
  std::ranges::sort(ascending);
  std::vector<double> us;
  for (size_t step = 0; step < series.us.size(); ++step) {
    if (series.preemptions[step] <= ascending[kEnoughSteps - 1]) us.push_back(series.us[step]);
  }
  return Quantile(std::move(us), 0.5);
}

MeasuredStep MeasuredStepOf(StepSamples samples) {
  const double reference_us = LeastDisturbedUs(samples.reference);
  return {.ratio = LeastDisturbedUs(samples.placement) / reference_us,
          .reference_us = reference_us,
          .reference_parts = std::move(samples.reference.parts),
          .placement_parts = std::move(samples.placement.parts)};
}

}  // namespace emplace
