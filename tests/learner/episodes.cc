#include "tests/learner/episodes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/policy/kernel/policy_kernel.h"
#include "simulator/placement_env.h"
#include "tests/support/random_graph.h"

namespace emplace {

std::vector<PlacementTask> TwoDeviceTasks(uint64_t seed, int count) {
  constexpr int32_t kGroups = 8;
  Rng rng(seed);
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 1000000000}, {"d:1", "y", 2000}};
  cluster.op_overhead_us = 1;
  cluster.bandwidth_bytes_per_us = 100;
  cluster.transfer_overhead_us = 2;
  std::vector<PlacementTask> tasks;
  while (std::ssize(tasks) < count) {
    PlacementTask task = PlacementTask::Make(RandomGraph(rng), cluster, kGroups);
    if (task.policy.num_nodes < 3) continue;
    const bool odd = tasks.size() % 2 == 1;
    if (odd) task.policy.allowed[0] = 0;
    tasks.push_back(std::move(task));
  }
  return tasks;
}

PolicyWeights SmallPolicy(uint64_t seed, PolicyVersion version) {
  PolicyShape shape;
  shape.message_rounds = 2;
  PolicyWeights weights = PolicyWeights::Initial(shape, Rng(seed));
  weights.version = version;
  return weights;
}

std::vector<Trajectory> Episodes(const std::vector<PlacementTask>& tasks, const EnvironmentConfig& environment,
                                 const PolicyWeights& weights, int count, Rng rng) {
  PolicyKernel kernel(weights);
  std::vector<float> logits(static_cast<size_t>(weights.shape.num_devices));
  std::vector<double> odds(logits.size());
  std::vector<Trajectory> episodes;
  for (int i = 0; i < count; ++i) {
    Trajectory episode;
    episode.graph = static_cast<GraphId>(rng.UniformInt(0, std::ssize(tasks) - 1));
    episode.policy_version = weights.version;
    PlacementEnv env(tasks[episode.graph], environment);
    episode.rho.push_back(static_cast<float>(env.Reset(rng)));
    episode.start_placement.assign(env.placement().begin(), env.placement().end());
    while (!env.done()) {
      const PolicyState state = env.state();
      kernel.Forward(std::span(&state, 1), logits);
      double sum = 0;
      for (size_t d = 0; d < odds.size(); ++d) sum += odds[d] = std::exp(static_cast<double>(logits[d]));
      const size_t action = rng.Categorical(odds);
      episode.actions.push_back(static_cast<uint8_t>(action));
      episode.behaviour_log_prob.push_back(static_cast<float>(std::log(odds[action] / sum)));
      episode.rho.push_back(static_cast<float>(env.Step(static_cast<DeviceIndex>(action))));
    }
    episodes.push_back(std::move(episode));
  }
  return episodes;
}

}  // namespace emplace
