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

BatchNumbers NumbersOf(const std::vector<Episode>& batch, PolicyVersion current) {
  EMPLACE_CHECK(!batch.empty());
  BatchNumbers numbers;
  numbers.lag_min = std::numeric_limits<int64_t>::max();
  numbers.best_ratio = std::nan("");
  double ratio_sum = 0;
  int64_t ratios = 0;
  int64_t lag_sum = 0;
  for (const Episode& episode : batch) {
    const int64_t lag = LagOf(current, episode.trajectory.policy_version);
    numbers.lag_min = std::min(numbers.lag_min, lag);
    numbers.lag_max = std::max(numbers.lag_max, lag);
    lag_sum += lag;
    if (std::isnan(episode.ratio)) continue;
    ratio_sum += episode.ratio;
    ++ratios;
    if (episode.feasible) numbers.best_ratio = std::fmin(numbers.best_ratio, episode.ratio);
  }
  numbers.mean_ratio = ratios > 0 ? ratio_sum / static_cast<double>(ratios) : std::nan("");
  numbers.lag_mean = static_cast<double>(lag_sum) / static_cast<double>(batch.size());
  return numbers;
}

}  // namespace emplace
