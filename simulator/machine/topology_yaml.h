// Reads and writes the `topology` part of a devices file, which is inline or a file of its own:
//
//   overhead_us: 5               # the links of a route stay busy this long after each transfer
//   blocking: 1                  # the share of a transfer in which its devices run nothing; 0 if missing
//   nodes: [host:0, pcie:0]      # switches and hosts; devices are nodes already
//   links:
//     - {name: pcie0, between: ["gpu:0", pcie:0], bandwidth_bytes_per_us: 12000, latency_us: 1}
#pragma once

#include <string>
#include <vector>

#include "simulator/machine/topology.h"
#include "simulator/machine/yaml_reader.h"

namespace emplace {

struct TopologySection {
  Topology topology;
  double overhead_us = 0;
  double blocking = 0;
};

// node: the map, or the path of a file with the map, relative to the folder of reader.source(). Throws BadInput
// "path:line:col: ..." for unknown keys and nodes, names used twice, a link from a node to itself, a bandwidth that is
// not > 0, a negative latency, more than kMaxTopologyLinks links, and two devices with no route between them.
TopologySection ReadTopology(const YamlReader& reader, const YAML::Node& node, const std::vector<std::string>& devices);
// Writes the map in block style. REQUIRES: the first `num_devices` nodes are devices.
void WriteTopology(YAML::Emitter& out, const TopologySection& section, size_t num_devices);

}  // namespace emplace
