// How much groups of ops exchange.
#pragma once

#include <vector>

#include "common/ids.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

struct GroupLink {
  GroupIndex from;
  GroupIndex to;
  double bytes;
};

// Between groups that exchange tensors, both ways: summed for each pair, the heaviest of a group first. group_of_op:
// [num_ops].
std::vector<GroupLink> LinksBetween(const SimGraph& sim, const std::vector<GroupIndex>& group_of_op);

}  // namespace emplace
