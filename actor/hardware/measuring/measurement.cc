#include "actor/hardware/measuring/measurement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/quantile.h"

namespace emplace {
namespace {

void AddDurations(const std::vector<double>& begin_us, const std::vector<double>& end_us,
                  std::vector<std::vector<double>>& durations) {
  durations.resize(begin_us.size());
  for (size_t i = 0; i < begin_us.size(); ++i) {
    if (!std::isnan(end_us[i])) durations[i].push_back(end_us[i] - begin_us[i]);
  }
}

std::vector<double> Medians(const std::vector<std::vector<double>>& samples) {
  std::vector<double> medians;
  for (const std::vector<double>& one : samples) {
    medians.push_back(one.empty() ? std::numeric_limits<double>::quiet_NaN() : Median(one));
  }
  return medians;
}

}  // namespace

StepStatistics Summarize(const std::vector<double>& step_us) {
  StepStatistics statistics{.steps = static_cast<int32_t>(step_us.size()),
                            .median_us = Median(step_us),
                            .lower_quartile_us = Quantile(step_us, 0.25),
                            .upper_quartile_us = Quantile(step_us, 0.75)};
  statistics.outliers = static_cast<int32_t>(
      std::count_if(step_us.begin(), step_us.end(), [&](double us) { return statistics.IsOutlier(us); }));
  return statistics;
}

void StepMeasurements::Add(const StepTimes& times) {
  step_us_.push_back(times.step_us);
  if (times.preemptions == 0) undisturbed_us_.push_back(times.step_us);
  AddDurations(times.op_begin_us, times.op_end_us, op_us_);
  AddDurations(times.copy_begin_us, times.copy_end_us, copy_us_);
}

std::optional<StepStatistics> StepMeasurements::UndisturbedSteps() const {
  if (undisturbed_us_.empty()) return std::nullopt;
  return Summarize(undisturbed_us_);
}

std::vector<double> StepMeasurements::MedianOpUs() const { return Medians(op_us_); }
std::vector<double> StepMeasurements::MedianCopyUs() const { return Medians(copy_us_); }

}  // namespace emplace
