// Automatic grouping (design, section 5): ops that are decided together, so that a policy has n = |groups| steps.
//
// Colocation by `group` label and of a parameter with its update; zero-cost ops folded into a neighbour; linear chains
// contracted; then merging along the heaviest edges, and between neighbours in the order, under a cost cap that grows,
// down to `max_groups`.
// Edges are directed by the topological position of the first op of each group; a colocation constraint can make edges
// that point back (a parameter's update to the parameter), and these do not order groups. Merging never makes a cycle
// among the others. Deterministic, near-linear in ops and edges.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "simulator/cluster.h"
#include "simulator/op_graph.h"

namespace emplace {

struct GroupEdge {
  GroupIndex from = 0;
  GroupIndex to = 0;
  int64_t bytes = 0;  // Sum over distinct tensors; a tensor with several readers in `to` counts once.
};

// Groups are numbered in topological order of the forward edges.
struct GroupedGraph {
  int32_t num_groups = 0;
  std::vector<GroupIndex> group_of_op;    // [num_ops]
  std::vector<double> cost_us;            // [num_groups] sum over ops of the mean cost over the devices that may run it
  std::vector<int64_t> output_bytes;      // [num_groups] sum over ops
  std::vector<int64_t> memory_bytes;      // [num_groups] sum of param_bytes, temp_bytes and output_bytes
  std::vector<GroupEdge> edges;           // Sorted by (from, to), from < to: the forward edges.
  std::vector<GroupEdge> feedback_edges;  // from > to: forced by colocation.
  std::vector<uint8_t> allowed;           // [num_groups * num_devices] 1 where every op of the group may run
};

// Throws BadInput when colocated ops have no device in common, naming one of them.
GroupedGraph GroupOps(const OpGraph& graph, const Cluster& cluster, int32_t max_groups);

}  // namespace emplace
