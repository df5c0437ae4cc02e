// Makes the progress line: rates, lag, and the shares of the stages' time since the line before.
#pragma once

#include <cstdint>
#include <string>

#include "common/threads/mutex.h"
#include "learner/actors/front_end_stats.h"
#include "learner/intake/episode_batch.h"
#include "learner/ledger.h"
#include "learner/stage_clock.h"
#include "policy/config/run_config.h"

namespace emplace {

// Any thread may call any function. It reads no clock; the caller passes the time.
class Progress {
 public:
  // `updates_before` and `seconds_before` are the updates and training seconds of earlier sittings.
  Progress(const RunConfig& config, int64_t updates_before, double seconds_before);

  // Adds a batch whose update is published.
  void AddBatch(const BatchStats& stats);

  // Numbers up to now, from which Line takes the difference to the line before.
  struct Totals {
    int64_t updates = 0;
    double seconds = 0;  // Training time over all sittings.
    StageTimes stages;   // Times of this sitting.
    FrontEndStats front_end;
    LedgerCounts ledger;
  };
  // The progress line, which docs/training.md explains.
  std::string Line(const Totals& totals);

 private:
  std::string Limit(const Totals& totals) const EMPLACE_REQUIRES(mu_);
  std::string TimeLeft(const Totals& totals) const;

  const RunConfig config_;
  const int64_t updates_before_;
  const double seconds_before_;

  Mutex mu_;
  Totals last_ EMPLACE_GUARDED_BY(mu_);  // The totals at the last line.
  // Since the last line:
  int64_t batches_ EMPLACE_GUARDED_BY(mu_) = 0;
  double ratio_sum_ EMPLACE_GUARDED_BY(mu_) = 0;
  int64_t ratios_ EMPLACE_GUARDED_BY(mu_) = 0;
  int64_t lag_min_ EMPLACE_GUARDED_BY(mu_) = 0;
  int64_t lag_max_ EMPLACE_GUARDED_BY(mu_) = 0;
  double lag_sum_ EMPLACE_GUARDED_BY(mu_) = 0;
  // Since the sitting began:
  double best_ratio_ EMPLACE_GUARDED_BY(mu_);  // NaN: there is none yet.
};

}  // namespace emplace
