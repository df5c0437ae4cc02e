// What ops cost on the devices of a cluster.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// Looks up each kind of device once for each op, or not at all where an op has costs on the same kinds as the one
// before. Not thread-safe.
class DeviceCosts {
 public:
  explicit DeviceCosts(const Cluster& cluster);
  // [num_devices] the op's cost in us, kMayNotRunUs where it may not run. Holds until the next call.
  std::span<const double> Of(const Op& op);

 private:
  // Finds where among the names each kind is.
  void Find(const KindNames& names);

  static constexpr size_t kNone = std::numeric_limits<size_t>::max();
  std::vector<std::string> kinds_;      // Each once.
  std::vector<size_t> kind_of_device_;  // [num_devices] index into kinds_
  KindNames found_in_;                  // Those of the last op that has some.
  std::vector<size_t> place_of_kind_;   // [kinds] index into *found_in_, or kNone
  std::vector<double> us_of_kind_;      // [kinds]
  std::vector<double> us_;              // [num_devices]
};

}  // namespace emplace
