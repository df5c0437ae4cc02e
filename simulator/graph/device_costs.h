// What ops cost on the devices of a cluster.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// Looks up each kind of device once for each op. Not thread-safe.
class DeviceCosts {
 public:
  explicit DeviceCosts(const Cluster& cluster);
  // [num_devices] the op's cost in us, NaN where it may not run. Holds until the next call.
  std::span<const double> Of(const Op& op);

 private:
  std::vector<std::string> kinds_;      // Each once.
  std::vector<size_t> kind_of_device_;  // [num_devices] index into kinds_
  std::vector<double> us_of_kind_;      // [kinds]
  std::vector<double> us_;              // [num_devices]
};

}  // namespace emplace
