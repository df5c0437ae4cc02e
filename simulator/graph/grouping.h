// Automatic grouping: merges ops into at most `max_groups` groups, each of which a policy places by one decision.
//
// Ops with the same `group` label are merged, and a parameter with its update. Then ops of zero cost are merged into a
// neighbour, and linear chains into one group. Then groups are merged along the heaviest edges, and between neighbours
// in the topological order, under a limit of a group's cost that grows, until `max_groups` are left. Ops that
// have to be together can make edges that point back, such as from a parameter's update to the parameter; by the rule
// of unit_order.h these do not order groups. Merging never makes a cycle among the other edges. The result is
// deterministic, in time near-linear in ops and edges.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "common/ids.h"
#include "common/threads/stop.h"
#include "simulator/graph/group_reads.h"
#include "simulator/graph/op_graph.h"
#include "simulator/graph/search_levels.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// Groups are numbered in topological order of the forward edges.
struct GroupedGraph {
  int32_t num_groups = 0;
  std::vector<GroupIndex> group_of_op;  // [num_ops]
  std::vector<double> cost_us;          // [num_groups] sum over ops of their mean cost on the devices that may run them
  std::vector<int64_t> output_bytes;    // [num_groups] sum over ops
  std::vector<int64_t> memory_bytes;    // [num_groups] sum of Op::AllBytes
  std::vector<GroupEdge> edges;         // Sorted by (from, to), from < to: the forward edges.
  std::vector<GroupEdge> feedback_edges;  // Edges with from > to, which colocation forces.
  std::vector<uint8_t> allowed;           // [num_groups * num_devices] 1 where every op of the group may run
};

// Where nobody says how many groups there may be. Policies that do not say with how many they were trained had so many.
inline constexpr int32_t kDefaultMaxGroups = 128;

// max_groups: 0: only ops that have to be together are. Throws BadInput, which names an op, when ops that have to be
// together have no device in common. Where `stop` ends it early, what is left is cut into stretches of the topological
// order.
GroupedGraph GroupOps(const OpGraph& graph, const Cluster& cluster, int32_t max_groups, const StopSignal& stop = {});

struct GroupingLimits {
  int32_t max_groups = 0;  // As of GroupOps.
  // Where more groups than these are left of ops of zero cost and chains, they are not merged, which takes seconds for
  // 100,000, but cut as where there is no time.
  int32_t most_to_merge = std::numeric_limits<int32_t>::max();
  int32_t fewest = 1;  // Groups of the coarsest search level.
};
struct Groupings {
  GroupedGraph groups;                         // As of GroupOps.
  std::shared_ptr<const SearchLevels> levels;  // Where `stop` ends the grouping early, the second merges less.
  std::vector<GroupIndex> units;               // The second level.
};
// Groups for policies and for searches, in less time than one after the other.
Groupings GroupOpsBothWays(const OpGraph& graph, const Cluster& cluster, const GroupingLimits& limits,
                           const StopSignal& stop = {});

}  // namespace emplace
