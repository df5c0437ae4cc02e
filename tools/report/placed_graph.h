// One placed graph as a report shows it: its simulated run, and its groups.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "simulator/cluster.h"
#include "simulator/op_graph.h"
#include "simulator/placement.h"

namespace emplace {

// {"graph", "makespan_us", "single_device_us" (null: no device may run every op), "devices", "links", "types", "ops",
// "transfers", "memory", "groups"}; tables are objects of columns, times in microseconds rounded to nanoseconds. Groups
// are those of GroupOps(max_groups); a placement need not respect them, so each has the share of its cost on every
// device.
nlohmann::ordered_json PlacedGraphToJson(const OpGraph& graph, const Cluster& cluster, const Placement& placement,
                                         int32_t max_groups);

}  // namespace emplace
