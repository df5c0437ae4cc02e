// The progress line, and what it is made of: rates, lag and where the time goes, since the line before.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "learner/front_end.h"

namespace emplace {

// Where the learner's time went since the last line.
struct StageSeconds {
  double waiting = 0;   // For trajectories.
  double updating = 0;
  double other = 0;     // Publishing, checkpoints, metrics.
};

// Not thread-safe.
class Progress {
 public:
  Progress(int64_t iterations, double max_minutes, int64_t updates_before, double seconds_before);

  void AddEpisode(double ratio, int64_t lag);
  void AddStages(const StageSeconds& stages);
  // The line since the last call. seconds: of training, over all sittings.
  std::string Line(int64_t updates, double seconds, const FrontEndStats& front_end);

 private:
  std::string LimitingStage(double interval_s, const FrontEndStats& front_end) const;
  std::string TimeLeft(int64_t updates, double seconds) const;

  const int64_t iterations_;
  const double max_seconds_;     // 0: no limit.
  const int64_t updates_before_;
  const double seconds_before_;
  std::chrono::steady_clock::time_point last_line_;
  FrontEndStats last_stats_;
  StageSeconds stages_;
  int64_t episodes_ = 0;
  double ratio_sum_ = 0;
  double best_ratio_ = 0;        // 0: none yet.
  int64_t lag_min_ = 0;
  int64_t lag_max_ = 0;
  int64_t lag_sum_ = 0;
};

}  // namespace emplace
