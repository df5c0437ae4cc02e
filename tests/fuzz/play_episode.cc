#include "tests/fuzz/play_episode.h"

#include <cmath>
#include <numeric>

#include "common/error.h"
#include "common/rng.h"
#include "simulator/environment/placement_env.h"

namespace emplace {

Trajectory PlayEpisode(const PlacementTask& task, const EnvironmentConfig& environment, uint64_t seed) {
  EMPLACE_CHECK(task.groups.num_groups > 0);  // Rollouts rely on it.
  const auto devices = static_cast<size_t>(task.groups.num_devices);
  std::vector<double> odds(devices);
  Rng rng(seed);
  PlacementEnv env(task, environment);
  Trajectory episode;
  const auto note = [&](double rho) {
    EMPLACE_CHECK(std::isfinite(env.makespan_us()) && env.makespan_us() >= 0 && std::isfinite(rho));
    episode.rho.push_back(static_cast<float>(rho));
  };
  note(env.Reset(rng));
  episode.start_placement.assign(env.placement().begin(), env.placement().end());
  while (!env.done()) {
    const size_t row = static_cast<size_t>(env.step()) * devices;
    for (size_t d = 0; d < devices; ++d) odds[d] = task.groups.allowed[row + d];
    const size_t device = rng.Categorical(odds);
    episode.actions.push_back(static_cast<uint8_t>(device));
    episode.behaviour_log_prob.push_back(static_cast<float>(-std::log(std::accumulate(odds.begin(), odds.end(), 0.0))));
    note(env.Step(static_cast<DeviceIndex>(device)));
  }
  return episode;
}

}  // namespace emplace
