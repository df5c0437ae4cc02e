// Placements (a device for each op), their checks and their files, which may also hold an order for each device.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "simulator/graph/device_order.h"
#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"

namespace emplace {

using Placement = std::vector<DeviceIndex>;  // [num_ops]

// The error for an op that no device of the cluster may run: it says which kinds may, and which the devices are of.
Error NoDeviceFor(const Op& op, const Cluster& cluster);

// Throws BadInput, which names the op, for a wrong length, a device index out of range and a device kind not allowed.
void CheckPlacement(const OpGraph& graph, const Cluster& cluster, std::span<const DeviceIndex> placement);

// What a placement file says. Without an order in the file, `orders` is empty.
struct OrderedPlacement {
  Placement placement;
  DeviceOrders orders;

  bool operator==(const OrderedPlacement&) const = default;
};

// Reads emplace.placement/1, or a bare array of device indices in op order. If the file names devices, they must be
// those of the cluster. Throws BadInput as CheckPlacement and CheckOrders do, and for a file that is not of this form
// or has an unknown key.
OrderedPlacement LoadOrderedPlacement(const std::filesystem::path& path, const OpGraph& graph, const Cluster& cluster);
OrderedPlacement ParseOrderedPlacement(std::string_view json, const std::string& source, const OpGraph& graph,
                                       const Cluster& cluster);
// Does the same for callers that have no use for an order.
Placement ParsePlacement(std::string_view json, const std::string& source, const OpGraph& graph,
                         const Cluster& cluster);
// found: a JSON object about the placement's origin that is written beside it, for people and for `emplace export`;
// empty: none. What reads placements ignores it.
std::string PlacementToJson(const OpGraph& graph, const Cluster& cluster, std::span<const DeviceIndex> placement,
                            const std::string& found = "", const DeviceOrders& orders = {});

}  // namespace emplace
