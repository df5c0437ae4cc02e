// What several steps of one placement took.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "actor/hardware/step_runner.h"

namespace emplace {

struct StepStatistics {
  int32_t steps = 0;
  double median_us = 0;
  double lower_quartile_us = 0;
  double upper_quartile_us = 0;
  int32_t outliers = 0;  // Steps beyond the fences. They count for the median like all others.

  double spread_us() const { return upper_quartile_us - lower_quartile_us; }
  // Whether a step is beyond Tukey's fences: more than 1.5 interquartile ranges below the lower or above the upper
  // quartile.
  bool IsOutlier(double us) const {
    const double reach = 1.5 * spread_us();
    return us < lower_quartile_us - reach || us > upper_quartile_us + reach;
  }
};

// REQUIRES: step_us is not empty.
StepStatistics Summarize(const std::vector<double>& step_us);

// Collects the times of steps. Not thread-safe.
class StepMeasurements {
 public:
  void Add(const StepTimes& times);

  // REQUIRES for all: a step was added.
  StepStatistics Steps() const { return Summarize(step_us_); }
  // Of the steps during which no other program took the core of a device (StepTimes::preemptions); nullopt: there was
  // none.
  std::optional<StepStatistics> UndisturbedSteps() const;
  std::vector<double> MedianOpUs() const;    // [n] median duration of each op in us; NaN for one that did not run.
  std::vector<double> MedianCopyUs() const;  // [values] likewise, of the copies.

 private:
  std::vector<double> step_us_;
  std::vector<double> undisturbed_us_;
  std::vector<std::vector<double>> op_us_;    // [n][steps]
  std::vector<std::vector<double>> copy_us_;  // [values][steps]
};

}  // namespace emplace
