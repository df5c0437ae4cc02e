// The episodes of one update: which may go in, and what they say.
#pragma once

#include <cstdint>
#include <vector>

#include "learner/intake/episode.h"

namespace emplace {

// Versions that the policy has moved on since the episode was played. REQUIRES: current >= version.
int64_t LagOf(PolicyVersion current, PolicyVersion version);

// The rule of asynchronous training (design, section 6): an episode that lags by more than `max_lag` versions is
// dropped, unless its version is the newest that any episode has brought so far. So training cannot starve, however
// slow the actors are.
bool IsStale(PolicyVersion current, PolicyVersion version, PolicyVersion newest_received, int64_t max_lag);

// Over the episodes of a batch. Ratios are makespan / one device, lower is better; NaN where no episode has one.
struct BatchStats {
  double mean_ratio = 0;
  double best_ratio = 0;  // Of placements that fit in memory.
  int64_t lag_min = 0;
  double lag_mean = 0;
  int64_t lag_max = 0;
};
// `current`: the version that the update starts from. REQUIRES: the batch is not empty.
BatchStats StatsOf(const std::vector<Episode>& batch, PolicyVersion current);

}  // namespace emplace
