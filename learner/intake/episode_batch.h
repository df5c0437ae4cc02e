// The episodes of one update: which are too old, and the batch's statistics.
#pragma once

#include <cstdint>
#include <vector>

#include "learner/intake/episode.h"

namespace emplace {

// The lag of an episode: by how many versions `current` is newer than its behaviour policy. REQUIRES: current >=
// version.
int64_t LagOf(PolicyVersion current, PolicyVersion version);

// Whether an episode is too old for asynchronous training: it lags by more than `max_lag` versions, and episodes of a
// newer version have come. The second condition keeps training alive however slow the actors are.
bool IsStale(PolicyVersion current, PolicyVersion version, PolicyVersion newest_received, int64_t max_lag);

// Statistics of a batch. Ratios are makespan / one device, lower is better; NaN: no episode has one. Lags are in
// versions.
struct BatchStats {
  double mean_ratio = 0;
  double best_ratio = 0;  // The lowest ratio of a placement that fits in memory.
  int64_t lag_min = 0;
  double lag_mean = 0;
  int64_t lag_max = 0;
  int64_t measured = 0;            // Episodes with measured rewards,
  int64_t measured_again = 0;      // those of them that another actor has confirmed,
  double mean_measured_ratio = 0;  // and the mean of the ratios that they have measured; NaN: there is none.
};
// `current` is the version from which the update starts. REQUIRES: the batch is not empty.
BatchStats StatsOf(const std::vector<Episode>& batch, PolicyVersion current);

}  // namespace emplace
