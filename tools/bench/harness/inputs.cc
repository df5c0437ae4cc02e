#include "tools/bench/harness/inputs.h"

#include <algorithm>
#include <utility>

#include "actor/rollout.h"
#include "common/error.h"
#include "common/strings.h"
#include "policy/config/run_config.h"
#include "policy/placeto/placeto_kind.h"
#include "policy/placeto/placeto_shape.h"
#include "simulator/environment/environment_config.h"
#include "simulator/families/family.h"
#include "simulator/families/program/device_kind.h"

namespace emplace::bench {

Cluster BenchCluster(const std::string& name) {
  return LoadCluster(DefaultKindsFolder().parent_path() / "clusters" / (name + ".yaml"));
}

Cluster PlainCluster(int32_t devices) {
  Cluster cluster;
  for (int32_t d = 0; d < devices; ++d) {
    cluster.devices.push_back({.name = StrCat("gpu:", d), .kind = "k80", .memory_bytes = 11'000'000'000});
  }
  cluster.op_overhead_us = 5.7;
  cluster.bandwidth_bytes_per_us = 7600;
  cluster.transfer_overhead_us = 25;
  return cluster;
}

OpGraph RandomDag(Rng rng, int32_t num_ops) {
  constexpr int32_t kInputs = 3;
  std::vector<Op> ops(static_cast<size_t>(num_ops));
  for (int32_t o = 0; o < num_ops; ++o) {
    Op& op = ops[static_cast<size_t>(o)];
    op.name = StrCat("op", o);
    op.type = "bench.op";
    op.cost = OpCost::Everywhere(static_cast<double>(rng.UniformInt(1, 100)));
    op.outputs.push_back({.bytes = rng.UniformInt(0, 1'000'000), .shape = {}, .dtype = "f32"});
    std::vector<OpIndex> producers;
    while (std::ssize(producers) < std::min(o, kInputs)) {
      const auto producer = static_cast<OpIndex>(rng.UniformInt(0, o - 1));
      if (std::find(producers.begin(), producers.end(), producer) == producers.end()) producers.push_back(producer);
    }
    for (const OpIndex producer : producers) op.inputs.push_back({.producer = producer, .output = 0});
  }
  return OpGraph("random_dag", std::move(ops));
}

Placement RandomOpPlacement(Rng& rng, int32_t num_ops, int32_t num_devices) {
  Placement placement;
  for (int32_t o = 0; o < num_ops; ++o)
    placement.push_back(static_cast<DeviceIndex>(rng.UniformInt(0, num_devices - 1)));
  return placement;
}

std::vector<OpGraph> FamilyGraphs(const std::string& family, int64_t count) {
  const FamilyOptions options{.family = family, .count = count, .train = count};
  return GenerateFamily(options, LoadDeviceKinds(DefaultKindsFolder())).graphs;
}

std::vector<PlacementTask> FamilyTasks(const std::string& family, int64_t count, const std::string& cluster,
                                       int32_t max_groups) {
  const Cluster machine = BenchCluster(cluster);
  std::vector<PlacementTask> tasks;
  for (const OpGraph& graph : FamilyGraphs(family, count)) {
    tasks.push_back(PlacementTask::MakeForEpisodes(graph, machine, max_groups));
  }
  return tasks;
}

PolicyWeights InitialWeights(int32_t num_devices) {
  PlacetoShape shape;
  shape.num_devices = num_devices;
  return InitialPlaceto(shape, Rng(1).Fork("weights"));
}

std::vector<Trajectory> PlayEpisodes(const std::vector<PlacementTask>& tasks,
                                     const std::shared_ptr<const PolicyWeights>& weights, size_t count) {
  Rollout rollout(tasks, EnvironmentConfig{}, ActorConfig{}.episodes_in_flight, ActorKey{}, Rng(1).Fork("episodes"));
  rollout.SetWeights(weights);
  std::vector<Trajectory> episodes;
  while (episodes.size() < count) {
    for (Trajectory& episode : rollout.Advance()) {
      if (episodes.size() == count) break;
      episode.sequence = episodes.size() + 1;
      episodes.push_back(std::move(episode));
    }
  }
  return episodes;
}

}  // namespace emplace::bench
