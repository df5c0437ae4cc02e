#include "tests/actor/small_tasks.h"

#include "common/rng.h"
#include "policy/placeto/placeto_kind.h"
#include "tests/support/random_graph.h"

namespace emplace {

std::vector<PlacementTask> SmallTasks(uint64_t seed, int count) {
  Rng rng(seed);
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 1000000}, {"d:1", "y", 2000}};
  cluster.op_overhead_us = 1;
  cluster.bandwidth_bytes_per_us = 100;
  cluster.transfer_overhead_us = 2;
  RandomGraphOptions options;
  options.max_ops = 40;
  std::vector<PlacementTask> tasks;
  while (static_cast<int>(tasks.size()) < count) {
    PlacementTask task = PlacementTask::Make(RandomGraph(rng, options), cluster, 12);
    const size_t groups = static_cast<size_t>(task.groups.num_groups);
    if (groups < 3) continue;
    for (size_t g = 0; g < groups; g += 5) task.groups.allowed[2 * g + (g % 2)] = 0;
    tasks.push_back(std::move(task));
  }
  return tasks;
}

std::shared_ptr<const PolicyWeights> SmallWeights(uint64_t seed, PolicyVersion version) {
  PlacetoShape shape;
  shape.message_rounds = 2;
  PolicyWeights weights = InitialPlaceto(shape, Rng(seed));
  weights.version = version;
  return std::make_shared<const PolicyWeights>(std::move(weights));
}

}  // namespace emplace
