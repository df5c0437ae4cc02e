// The machine that a graph is placed on: devices, and how tensors travel between them (docs/design-simulator.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "simulator/machine/link_model.h"
#include "simulator/machine/topology.h"

namespace emplace {

struct Device {
  std::string name;  // "gpu:0", unique
  std::string kind;  // "k80"
  int64_t memory_bytes = 0;
  std::vector<int32_t> cores =
      {};  // For emplace-hardware: processor cores that a device of the CPU runs on, ascending.
};

struct Cluster {
  std::vector<Device> devices;
  double op_overhead_us = 0;          // A device stays busy this long after an op of nonzero cost.
  double bandwidth_bytes_per_us = 0;  // Bandwidth of each device's sending link; unused with a topology.
  double transfer_latency_us = 0;     // From when a sending link has sent a tensor until the tensor has arrived.
  double transfer_overhead_us = 0;    // The links of a transfer stay busy this long after it.
  LinkModel link_model = LinkModel::kShared;
  // For what share of a transfer both of its devices run nothing else, from its start on: 0 (they compute as tensors
  // travel) to 1 (sends and receives that block). Above 0, the model is not kShared.
  double blocking = 0;
  Topology topology = {};  // For LinkModel::kTopology: every device reaches every other. Its links have the latencies.
  MemoryRule memory_rule = MemoryRule::kExecutor;

  int32_t num_devices() const { return static_cast<int32_t>(devices.size()); }
};

// Throws BadInput "path:line:col: ..." for an unknown or missing key, no device, more than kMaxDevices devices, a name
// used twice, a bandwidth that is not > 0, a negative number and an unknown model; for a topology, see topology_yaml.h.
Cluster LoadCluster(const std::filesystem::path& path);
// Does the same for a text. `source` names it in errors. A relative path of a topology file starts at
// the folder of `source`.
Cluster ParseCluster(std::string_view yaml, const std::string& source);
// Does the same for a text from elsewhere, which may not name another file.
Cluster ParseClusterWithoutFiles(std::string_view yaml, const std::string& source);
// Writes a cluster as YAML that reads back equal; a topology is written inline.
std::string ClusterToYaml(const Cluster& cluster);

// "shared", "per_destination" or "topology"
std::string LinkModelName(LinkModel model);
// "executor" or "placeto"
std::string MemoryRuleName(MemoryRule rule);
// The rule of that name; nullopt if there is none.
std::optional<MemoryRule> MemoryRuleNamed(std::string_view name);

}  // namespace emplace
