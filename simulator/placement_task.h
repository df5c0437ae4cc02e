// One graph to place, of one group at least, with all that episodes on it need: what the learner hands to actors, and
// what `emplace place` builds from files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/policy/policy_graph.h"
#include "common/wire/array_bundle.h"
#include "simulator/cluster.h"
#include "simulator/op_graph.h"
#include "simulator/sim_graph.h"

namespace emplace {

// Throws BadInput for a device of a kind that may run no op of the graph: a misspelt kind would leave it idle without a
// word. For what users give; a task can be made of such devices too.
void CheckKinds(const OpGraph& graph, const Cluster& cluster);

struct PlacementTask {
  std::string name;
  SimGraph sim;
  std::vector<GroupIndex> group_of_op;  // [num_ops]
  PolicyGraph policy;
  // The best single device that may run every op and holds it in memory; where none fits, the best that may run it.
  // Infinity and -1 when no device may run every op.
  double single_device_us = 0;
  DeviceIndex single_device = 0;
  // For methods that look at ops; Make alone fills these in, they do not travel.
  std::vector<GroupIndex> unit_of_op;     // [num_ops] the finest grouping: what has to go together
  std::vector<int32_t> stage_of_op;       // [num_ops] "stage" of the op's attrs, -1: none
  std::vector<std::string> device_kinds;  // [D]

  // Throws BadInput for a graph without ops, and what GroupOps and SimGraph::Compile throw.
  static PlacementTask Make(const OpGraph& graph, const Cluster& cluster, int32_t max_groups);
  // Without what only methods look at, which takes a second grouping: all that episodes need.
  static PlacementTask MakeForEpisodes(const OpGraph& graph, const Cluster& cluster, int32_t max_groups);
  // makespan / best single device, lower is better; NaN where no device may run every op.
  double RatioToSingleDevice(double makespan_us) const;
  // Group placement [n groups] -> op placement [num_ops].
  void Expand(std::span<const uint8_t> groups, std::span<DeviceIndex> ops) const;
};

ArrayBundle ToBundle(const PlacementTask& task);
// Validates everything; throws BadInput naming the array.
PlacementTask TaskFromBundle(const ArrayBundle& bundle);

}  // namespace emplace
