// The graphs that a run trains, validates and tests on, ready to place.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "policy/config/run_config.h"
#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Which version of the policy a run ends with.
enum class VersionChoice {
  kValidation,  // The best on the validation graphs.
  kHeldOut,     // The configuration names none, so every fifth of its training graphs is held out for validation.
  kSearch,      // The best on the only training graph: the run is a search for this graph's placement.
  kLast,  // The last: there are too few training graphs to hold some out, and the best on them knows them by heart.
};

// Whether Workload::validation holds graphs that are not trained on.
inline bool ValidatesOnOthers(VersionChoice choice) {
  return choice == VersionChoice::kValidation || choice == VersionChoice::kHeldOut;
}

struct Workload {
  std::vector<PlacementTask> train;       // Index = GraphId. Empty where a run trains on instances without end.
  std::vector<PlacementTask> validation;  // Copies of `train` under kSearch and kLast, for the learning curves.
  std::vector<PlacementTask> test;        // These decide nothing: they are for the learning curves alone.
  VersionChoice choice = VersionChoice::kValidation;
  bool takes_last = false;            // Under VersionChoice::kLast, and where the configuration asks for it.
  std::vector<OpGraph> train_graphs;  // [train] for the names of ops: a placement is written by them.
  Cluster cluster;
  int32_t num_devices = 0;  // Of the cluster; 0: each instance has its own.
  // Tells the graphs of all three sets from others, as ContentHash; empty for instances, which the configuration
  // decides.
  std::string graphs_hash;
  // Tells what an evaluation depends on besides its graphs, as ContentHash: the machine, the start placement and the
  // budget, or which instances there are.
  std::string conditions_hash;

  // Validation graphs that are no training graphs.
  size_t NumValidation() const { return ValidatesOnOthers(choice) ? validation.size() : 0; }
};

// Which graphs `validation` holds: "validation" or "training".
const char* ValidationName(VersionChoice choice);
// A sentence for people: which version the run ends with and why.
std::string DescribeChoice(const Workload& workload);

// Generates or loads the graphs and groups them. A generated family is also written to `graphs_folder`, with its
// split.json, so that what was trained and tested on can be placed later. Throws BadInput for anything wrong with them.
Workload BuildWorkload(const RunConfig& config, const std::filesystem::path& graphs_folder);

}  // namespace emplace
