#include "learner/intake/episode_batch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.h"

namespace emplace {

int64_t LagOf(PolicyVersion current, PolicyVersion version) {
  EMPLACE_CHECK(version <= current);
  return static_cast<int64_t>(current - version);
}

bool IsStale(PolicyVersion current, PolicyVersion version, PolicyVersion newest_received, int64_t max_lag) {
  return LagOf(current, version) > max_lag && version < newest_received;
}

BatchStats StatsOf(const std::vector<Episode>& batch, PolicyVersion current) {
  EMPLACE_CHECK(!batch.empty());
  BatchStats stats;
  stats.lag_min = std::numeric_limits<int64_t>::max();
  stats.best_ratio = std::nan("");
  double ratio_sum = 0;
  int64_t ratios = 0;
  double measured_sum = 0;
  int64_t measured_ratios = 0;
  int64_t lag_sum = 0;
  for (const Episode& episode : batch) {
    const int64_t lag = LagOf(current, episode.trajectory.policy_version);
    stats.lag_min = std::min(stats.lag_min, lag);
    stats.lag_max = std::max(stats.lag_max, lag);
    lag_sum += lag;
    if (episode.proof != Proof::kSimulated) ++stats.measured;
    if (episode.proof == Proof::kMeasuredAgain) ++stats.measured_again;
    if (!std::isnan(episode.measured_ratio)) {
      measured_sum += episode.measured_ratio;
      ++measured_ratios;
    }
    if (std::isnan(episode.ratio)) continue;
    ratio_sum += episode.ratio;
    ++ratios;
    if (episode.feasible) stats.best_ratio = std::fmin(stats.best_ratio, episode.ratio);
  }
  stats.mean_ratio = ratios > 0 ? ratio_sum / static_cast<double>(ratios) : std::nan("");
  stats.mean_measured_ratio = measured_ratios > 0 ? measured_sum / static_cast<double>(measured_ratios) : std::nan("");
  stats.lag_mean = static_cast<double>(lag_sum) / static_cast<double>(batch.size());
  return stats;
}

}  // namespace emplace
