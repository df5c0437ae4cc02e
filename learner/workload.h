// The graphs that a run trains, validates and tests on, ready to place.
#pragma once

#include <filesystem>
#include <vector>

#include "common/config/run_config.h"
#include "simulator/cluster.h"
#include "simulator/op_graph.h"
#include "simulator/placement_task.h"

namespace emplace {

struct Workload {
  std::vector<PlacementTask> train;  // Index = GraphId.
  std::vector<PlacementTask>
      validation;                   // The best checkpoint is chosen on these; the training graphs where none are given.
  std::vector<PlacementTask> test;  // Never decides anything: for the curves alone.
  std::vector<OpGraph> train_graphs;  // [train] for the names of ops: a placement is written by them.
  Cluster cluster;
  int32_t num_devices = 0;
};

// Generates or loads the graphs and groups them. A generated family is also written to `graphs_folder`, with its
// split.json, so that what was trained and tested on can be placed later. Throws BadInput for anything wrong with them.
Workload BuildWorkload(const RunConfig& config, const std::filesystem::path& graphs_folder);

}  // namespace emplace
