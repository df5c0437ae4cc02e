// metrics.jsonl of a run as the series that a report draws.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/metrics_keys.h"

namespace emplace {

// One entry an evaluation; NaN where a line has no such number. Ratios are makespan / one device.
struct EvaluationSeries {
  std::vector<double> update;
  std::vector<double> seconds;
  std::vector<double> validation_ratio;
  std::vector<double> test_ratio;
};

// One entry a bucket of consecutive updates, so that a long run stays drawable; NaN as above.
struct UpdateSeries {
  std::vector<double> update;      // Of the bucket's last update.
  std::vector<double> seconds;     // Likewise, of training since its start.
  std::vector<double> mean_ratio;  // Mean over the bucket.
  std::vector<double> best_ratio;  // Least of the bucket.
  std::vector<double> min_lag;     // Versions. Least, mean and greatest of the bucket.
  std::vector<double> mean_lag;
  std::vector<double> max_lag;
  std::vector<double> episodes_per_s;  // Over the time since the bucket before.
  std::vector<double> steps_per_s;
  // Share of the wall time, 0..1, for which each stage of metrics::kStages works. Stages work at the same time.
  std::array<std::vector<double>, metrics::kStages.size()> busy_share;
  // Share of the wall time for which the queue was full, so that actors had to wait.
  std::vector<double> blocked_share;
  // Of runs with hardware actors:
  std::vector<double> measured_ratio;           // Mean over the bucket.
  std::vector<double> measured_episodes_per_s;  // Over the time since the bucket before.
  std::vector<double> window_share;             // Seconds of open windows, over all actors, in a second.
};

struct MetricsSeries {
  EvaluationSeries evaluations;
  UpdateSeries updates;
};

// At most `most_buckets` > 0 buckets. Lines of other kinds are left out, and so is an unfinished last line: the run
// still goes on. Throws BadInput "source:line: ..." for any other line that is not a JSON object with numbers where we
// need them.
MetricsSeries ParseMetrics(std::string_view text, const std::string& source, size_t most_buckets);

}  // namespace emplace
