// The machine that a graph is placed on: devices and the default link model (design, sections 3 and 4).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"

namespace emplace {

struct Device {
  std::string name;           // "gpu:0", unique
  std::string kind;           // "k80"
  int64_t memory_bytes = 0;
};

struct Cluster {
  std::vector<Device> devices;
  double op_overhead_us = 0;             // A device stays busy this long after an op of nonzero cost.
  double bandwidth_bytes_per_us = 0;     // Of the one sending link of each device.
  double transfer_overhead_us = 0;       // The link stays busy this long after each transfer.

  int32_t num_devices() const { return static_cast<int32_t>(devices.size()); }
};

// Throws BadInput "path:line:col: ..." (unknown key, missing key, no device, more than kMaxDevices, duplicate name,
// bandwidth not > 0, negative number).
Cluster LoadCluster(const std::filesystem::path& path);
Cluster ParseCluster(std::string_view yaml, const std::string& source);
std::string ClusterToYaml(const Cluster& cluster);

}  // namespace emplace
