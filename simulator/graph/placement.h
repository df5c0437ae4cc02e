// Placements (a device for each op), their checks and their files.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"

namespace emplace {

using Placement = std::vector<DeviceIndex>;  // [num_ops]

// Throws BadInput, which names the op, for a wrong length, a device index out of range and a device kind not allowed.
void CheckPlacement(const OpGraph& graph, const Cluster& cluster, std::span<const DeviceIndex> placement);

// Reads emplace.placement/1, or a bare array of device indices in op order. If the file names devices, they must be
// those of the cluster. Throws BadInput as CheckPlacement does, and for a file that is not of this form.
Placement LoadPlacement(const std::filesystem::path& path, const OpGraph& graph, const Cluster& cluster);
Placement ParsePlacement(std::string_view json, const std::string& source, const OpGraph& graph,
                         const Cluster& cluster);
// found: a JSON object about the placement's origin that is written beside it, for people and for `emplace export`;
// empty: none. LoadPlacement ignores it.
std::string PlacementToJson(const OpGraph& graph, const Cluster& cluster, std::span<const DeviceIndex> placement,
                            const std::string& found = "");

}  // namespace emplace
