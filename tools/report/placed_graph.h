// A placed graph as a report shows it: its simulated timeline, in the devices' orders where they have one, and its
// groups.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "simulator/graph/op_graph.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// {"graph", "makespan_us", "single_device_us" (null: no device may run every op), "devices", "links", "types", "ops",
// "transfers", "memory", "groups"}. Tables are objects of columns; times are in microseconds, rounded to nanoseconds.
// The groups are those of GroupOps(max_groups). A placement need not keep a group together, so each group has the share
// of its cost on every device.
nlohmann::ordered_json PlacedGraphToJson(const OpGraph& graph, const Cluster& cluster, const Placement& placement,
                                         int32_t max_groups, const DeviceOrders& orders = {});

}  // namespace emplace
