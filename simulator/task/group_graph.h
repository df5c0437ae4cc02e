// A grouped graph: what an episode decides on. A group is placed by one decision. Policies make their features from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/csr.h"
#include "common/ids.h"
#include "simulator/graph/grouping.h"

namespace emplace {

// n groups in topological order: every parent has a lower index.
struct GroupGraph {
  int32_t num_groups = 0;  // n
  int32_t num_devices = 0;
  std::vector<double> cost_us;  // [n] sum over the group's ops of their mean cost on the devices that may run them
  std::vector<int64_t> output_bytes;  // [n] sum over the group's ops
  std::vector<int64_t> memory_bytes;  // [n] sum of resident, temporary and output bytes over the group's ops
  Csr parents;                        // [n] ascending, no repeats
  Csr children;                       // [n] ascending, no repeats; the transpose of `parents`
  std::vector<uint8_t> allowed;       // [n * num_devices] 1 where the group may be placed; every row has a 1

  // The devices that a group may be placed on, as a row of `allowed`.
  std::span<const uint8_t> AllowedRow(size_t group) const {
    return std::span(allowed).subspan(group * static_cast<size_t>(num_devices), static_cast<size_t>(num_devices));
  }
  bool Allowed(size_t group, size_t device) const {
    return allowed[group * static_cast<size_t>(num_devices) + device] == 1;
  }

  // The first group that a placement puts where it may not go; nullopt: there is none. placement: [n] devices.
  std::optional<size_t> FirstMisplaced(std::span<const uint8_t> placement) const;

  // Fills `children` from `parents`.
  void DeriveChildren();
};

// Only forward edges count: what points back orders nothing.
GroupGraph MakeGroupGraph(const GroupedGraph& grouped, int32_t num_devices);

}  // namespace emplace
