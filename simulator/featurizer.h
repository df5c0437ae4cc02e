// Grouped graph -> the policy's view of it (design, section 5, "State").
#pragma once

#include "common/policy/policy_graph.h"
#include "simulator/grouping.h"

namespace emplace {

PolicyGraph MakePolicyGraph(const GroupedGraph& grouped, int32_t num_devices);

}  // namespace emplace
