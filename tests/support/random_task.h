// Random placement tasks by seed: a random graph on a random cluster, grouped; some ops may run on some kinds only.
#pragma once

#include "common/rng.h"
#include "simulator/placement_task.h"

namespace emplace {

struct RandomTaskOptions {
  int32_t max_ops = 60;
  int32_t max_devices = 4;
  int32_t max_groups = 12;
  double restricted = 0;     // Share of ops that may run on one kind only.
  int64_t memory_bytes = 0;  // Of every device; 0: random, and tight enough to matter now and then.
  LinkModel link_model = LinkModel::kShared;
};

// What a task was made from, for tests that check it against its source.
struct RandomTaskSource {
  OpGraph graph;
  Cluster cluster;
};
RandomTaskSource RandomSource(Rng& rng, const RandomTaskOptions& options = {});
PlacementTask RandomTask(Rng& rng, const RandomTaskOptions& options = {});

// Uniform over the devices allowed to the group.
DeviceIndex RandomAllowedDevice(const PolicyGraph& graph, int32_t node, Rng& rng);

}  // namespace emplace
