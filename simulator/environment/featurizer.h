// Makes the policy's view of a grouped graph.
#pragma once

#include "common/policy/policy_graph.h"
#include "simulator/graph/grouping.h"

namespace emplace {

PolicyGraph MakePolicyGraph(const GroupedGraph& grouped, int32_t num_devices);

}  // namespace emplace
