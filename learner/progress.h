// The progress line, and what it is made of: rates, lag and where the time goes, since the line before.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "common/config/run_config.h"
#include "learner/episode_batch.h"
#include "learner/front_end.h"
#include "learner/ledger.h"

namespace emplace {

// Where the learner's time goes, seconds.
struct StageSeconds {
  double waiting = 0;   // For trajectories.
  double updating = 0;
  double other = 0;     // Publishing, checkpoints, metrics.
};
StageSeconds operator-(const StageSeconds& later, const StageSeconds& earlier);

// Splits all time since its construction among the stages. Not thread-safe.
class StageClock {
 public:
  // The time since the last call went into this stage.
  void Spent(double StageSeconds::* stage);
  const StageSeconds& total() const { return total_; }

 private:
  StageSeconds total_;
  std::chrono::steady_clock::time_point mark_ = std::chrono::steady_clock::now();
};

// Not thread-safe. Reads no clock: time comes with the calls.
class Progress {
 public:
  // updates_before, seconds_before: of earlier sittings.
  Progress(const RunConfig& config, int64_t updates_before, double seconds_before);

  void AddBatch(const BatchNumbers& numbers);

  struct Now {
    int64_t updates = 0;
    double seconds = 0;  // Of training, over all sittings.
    StageSeconds stages;  // Of this sitting.
    FrontEndStats front_end;
    LedgerCounts ledger;
  };
  // What happened since the line before.
  std::string Line(const Now& now);

 private:
  std::string LimitingStage(const Now& now) const;
  std::string TimeLeft(const Now& now) const;

  const int64_t iterations_;
  const double max_seconds_;     // 0: no limit.
  const int64_t send_queue_;     // Of an actor, trajectories.
  const int64_t updates_before_;
  const double seconds_before_;
  Now last_;                     // At the last line.
  // Since the last line:
  int64_t batches_ = 0;
  double ratio_sum_ = 0;
  int64_t ratios_ = 0;
  int64_t lag_min_ = 0;
  int64_t lag_max_ = 0;
  double lag_sum_ = 0;
  // Since the sitting began:
  double best_ratio_;            // NaN: none yet.
};

}  // namespace emplace
