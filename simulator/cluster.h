// The machine that a graph is placed on: devices, and how tensors travel between them (design, sections 3 and 4).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "simulator/link_model.h"
#include "simulator/topology.h"

namespace emplace {

struct Device {
  std::string name;  // "gpu:0", unique
  std::string kind;  // "k80"
  int64_t memory_bytes = 0;
};

struct Cluster {
  std::vector<Device> devices;
  double op_overhead_us = 0;          // A device stays busy this long after an op of nonzero cost.
  double bandwidth_bytes_per_us = 0;  // Of the one sending link of each device; unused with a topology.
  double transfer_overhead_us = 0;    // The links of a transfer stay busy this long after it.
  LinkModel link_model = LinkModel::kShared;
  Topology topology = {};  // Of LinkModel::kTopology; every device reaches every other.

  int32_t num_devices() const { return static_cast<int32_t>(devices.size()); }
};

// Throws BadInput "path:line:col: ..." (unknown key, missing key, no device, more than kMaxDevices, duplicate name,
// bandwidth not > 0, negative number, unknown model; for a topology, see topology_yaml.h).
Cluster LoadCluster(const std::filesystem::path& path);
// `source` names the text in errors; the name of a topology file starts at its folder.
Cluster ParseCluster(std::string_view yaml, const std::string& source);
// Reads back equal; a topology is written inline.
std::string ClusterToYaml(const Cluster& cluster);

// "shared", "per_destination" or "topology"
std::string LinkModelName(LinkModel model);

}  // namespace emplace
