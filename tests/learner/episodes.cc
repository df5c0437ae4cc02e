#include "tests/learner/episodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policy/placeto/kernel/placeto_kernel.h"
#include "policy/placeto/placeto_kind.h"
#include "simulator/environment/placement_env.h"
#include "tests/support/random_graph.h"

namespace emplace {

namespace {

constexpr int32_t kGroups = 8;

}  // namespace

Workload TwoDeviceWorkload(uint64_t seed, int count) {
  Rng rng(seed);
  Workload workload;
  workload.cluster.devices = {{"d:0", "x", 1000000000}, {"d:1", "y", 2000}};
  workload.cluster.op_overhead_us = 1;
  workload.cluster.bandwidth_bytes_per_us = 100;
  workload.cluster.transfer_overhead_us = 2;
  workload.num_devices = 2;
  while (std::ssize(workload.train) < count) {
    OpGraph graph = RandomGraph(rng);
    PlacementTask task = PlacementTask::Make(graph, workload.cluster, kGroups);
    if (task.groups.num_groups < 3) continue;
    const bool odd = workload.train.size() % 2 == 1;
    if (odd) task.groups.allowed[0] = 0;
    workload.train.push_back(std::move(task));
    workload.train_graphs.push_back(std::move(graph));
  }
  return workload;
}

Workload OnMachine(const Workload& workload, const Cluster& cluster) {
  Workload moved;
  moved.cluster = cluster;
  moved.num_devices = cluster.num_devices();
  moved.train_graphs = workload.train_graphs;
  for (const OpGraph& graph : moved.train_graphs) moved.train.push_back(PlacementTask::Make(graph, cluster, kGroups));
  return moved;
}

Workload RoomyWorkload(uint64_t seed, int count) {
  const Workload workload = TwoDeviceWorkload(seed, count);
  Cluster cluster = workload.cluster;
  for (Device& device : cluster.devices) device.memory_bytes = 1000000000;
  return OnMachine(workload, cluster);
}

std::vector<PlacementTask> TwoDeviceTasks(uint64_t seed, int count) { return TwoDeviceWorkload(seed, count).train; }

PolicyWeights SmallPolicy(uint64_t seed, PolicyVersion version) {
  PlacetoShape shape;
  shape.message_rounds = 2;
  PolicyWeights weights = InitialPlaceto(shape, Rng(seed));
  weights.version = version;
  return weights;
}

std::vector<Trajectory> Episodes(const std::vector<PlacementTask>& tasks, const EnvironmentConfig& environment,
                                 const PolicyWeights& weights, int count, Rng rng) {
  PlacetoKernel kernel(weights);
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
    const PlacetoGraph graph(tasks[episode.graph].groups);
    while (!env.done()) {
      const PlacetoState state{&graph, env.placement().data(), env.step()};
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

void ExpectEqual(const UpdaterState& a, const UpdaterState& b) {
  EXPECT_EQ(a.adam.steps, b.adam.steps);
  EXPECT_EQ(a.adam.mean, b.adam.mean);
  EXPECT_EQ(a.adam.variance, b.adam.variance);
  const auto by_name = [](const SafetensorsFile& file) {
    std::map<std::string, std::tuple<std::string, std::vector<int64_t>, std::vector<uint8_t>>> tensors;
    for (const SafetensorsTensor& tensor : file.tensors)
      tensors[tensor.name] = {tensor.dtype, tensor.shape, tensor.bytes};
    return tensors;
  };
  EXPECT_EQ(by_name(a.objective), by_name(b.objective));
}

}  // namespace emplace
