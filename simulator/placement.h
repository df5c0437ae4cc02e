// Op -> device, and the checks that make it legal.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/cluster.h"
#include "simulator/op_graph.h"

namespace emplace {

using Placement = std::vector<DeviceIndex>;  // [num_ops]

// Throws BadInput naming the op: wrong length, device index out of range, device kind not allowed.
void CheckPlacement(const OpGraph& graph, const Cluster& cluster, std::span<const DeviceIndex> placement);

// emplace.placement/1, or a bare array of device indices in op order. Device names of the file, when given, must be
// those of the cluster. The result is checked.
Placement LoadPlacement(const std::filesystem::path& path, const OpGraph& graph, const Cluster& cluster);
Placement ParsePlacement(std::string_view json, const std::string& source, const OpGraph& graph,
                         const Cluster& cluster);
// `found`, where given, is a JSON object that is written beside the placement, for people and for `emplace export`;
// whoever reads a placement passes over it.
std::string PlacementToJson(const OpGraph& graph, const Cluster& cluster, std::span<const DeviceIndex> placement,
                            const std::string& found = "");

}  // namespace emplace
