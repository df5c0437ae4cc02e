// The progress line, and what it is made of: rates, lag and where the time goes, since the line before.
#pragma once

#include <cstdint>
#include <string>

#include "common/config/run_config.h"
#include "common/mutex.h"
#include "learner/intake/episode_batch.h"
#include "learner/intake/front_end.h"
#include "learner/intake/ledger.h"
#include "learner/stage_clock.h"

namespace emplace {

// Any thread may call any function. Reads no clock: time comes with the calls.
class Progress {
 public:
  // updates_before, seconds_before: of earlier sittings.
  Progress(const RunConfig& config, int64_t updates_before, double seconds_before);

  void AddBatch(const BatchStats& stats);

  struct Totals {
    int64_t updates = 0;
    double seconds = 0;  // Of training, over all sittings.
    StageTimes stages;   // Of this sitting.
    FrontEndStats front_end;
    LedgerCounts ledger;
  };
  // What happened since the line before, and what limits it: see docs/training.md.
  std::string Line(const Totals& totals);

 private:
  std::string Limit(const Totals& totals) const EMPLACE_REQUIRES(mu_);
  std::string TimeLeft(const Totals& totals) const;

  const int64_t max_updates_;
  const double max_seconds_;  // 0: no limit.
  const int64_t send_queue_;  // Of an actor, trajectories.
  const int64_t updates_before_;
  const double seconds_before_;

  Mutex mu_;
  Totals last_ EMPLACE_GUARDED_BY(mu_);  // At the last line.
  // Since the last line:
  int64_t batches_ EMPLACE_GUARDED_BY(mu_) = 0;
  double ratio_sum_ EMPLACE_GUARDED_BY(mu_) = 0;
  int64_t ratios_ EMPLACE_GUARDED_BY(mu_) = 0;
  int64_t lag_min_ EMPLACE_GUARDED_BY(mu_) = 0;
  int64_t lag_max_ EMPLACE_GUARDED_BY(mu_) = 0;
  double lag_sum_ EMPLACE_GUARDED_BY(mu_) = 0;
  // Since the sitting began:
  double best_ratio_ EMPLACE_GUARDED_BY(mu_);  // NaN: none yet.
};

}  // namespace emplace
