// A graph on a cluster, ready to be placed: the simulator's graph, and the groups that are placed. The learner sends
// tasks to actors (task_bundle.h), and `emplace place` makes one from files.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/threads/stop.h"
#include "simulator/engine/sim_graph.h"
#include "simulator/graph/op_graph.h"
#include "simulator/graph/search_levels.h"
#include "simulator/machine/cluster.h"
#include "simulator/task/group_graph.h"

namespace emplace {

// Throws BadInput for a device whose kind may run no op of the graph, because a misspelt kind would silently leave the
// device idle. This is for users' input; a task with such a device is legal.
void CheckKinds(const OpGraph& graph, const Cluster& cluster);

struct PlacementTask {
  std::string name;
  SimGraph sim;
  std::vector<GroupIndex> group_of_op;  // [num_ops]
  GroupGraph groups;
  // Makespan (us) on, and index of, the best single device (single_device.h). Infinity and -1 if there is none.
  double single_device_us = 0;
  DeviceIndex single_device = 0;
  // For methods that place ops. Only Make fills these in, and actors do not get them.
  std::vector<GroupIndex> unit_of_op;          // [num_ops] sets of ops that are best placed together, such as chains
  std::shared_ptr<const SearchLevels> levels;  // Of a search.
  std::vector<int32_t> stage_of_op;            // [num_ops] "stage" of the op's attrs, -1: none
  std::vector<int32_t> microbatch_of_op;       // [num_ops] counted from 0; -1: no op repeats this one, nor the reverse
  std::vector<OpIndex> copy_of_op;             // [num_ops] the op of micro-batch 0 that this one repeats; else itself
  std::vector<std::string> device_kinds;       // [D]

  // Throws BadInput for a graph without ops, and as GroupOps and SimGraph::Compile do.
  // Where `stop` ends the grouping early, groups are coarser cuts. So they are in large graphs where nobody places
  // groups.
  static PlacementTask Make(const OpGraph& graph, const Cluster& cluster, int32_t max_groups,
                            const StopSignal& stop = {}, bool places_groups = true);
  // Does the same without the fields for methods, which need a second grouping.
  static PlacementTask MakeForEpisodes(const OpGraph& graph, const Cluster& cluster, int32_t max_groups);
  // makespan / one device: lower is better. NaN if no device may run every op.
  double RatioToSingleDevice(double makespan_us) const;
  // Whether ops repeat one another for micro-batches.
  bool HasMicrobatches() const;
  int32_t NumMicrobatches() const;  // At least 1.
  // Writes the placement of the ops [num_ops] that follows from a placement of the groups [n].
  void Expand(std::span<const uint8_t> placement, std::span<DeviceIndex> ops) const;

 private:
  static PlacementTask Ungrouped(const OpGraph& graph, const Cluster& cluster);
  void SetGroups(const GroupedGraph& grouped);
};

}  // namespace emplace
