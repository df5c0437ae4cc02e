// The bins of the hierarchical placer: what its grouper makes of a task's groups, and its placer gives devices. The
// paper calls them groups; here a group is what a task has. No LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/task/group_graph.h"

namespace emplace {

// min(256, 20 * devices), as the authors' code has it.
int32_t NumBins(int32_t num_devices);

// The bins that have a group, in the order of their first group. k of them.
struct UsedBins {
  // bins: [n] the bin of each group. REQUIRES: each is below 256.
  UsedBins(const GroupGraph& graph, std::span<const uint8_t> bins);

  size_t size() const { return bins.size(); }
  // The devices that at least one group of the bin may be placed on, [D] 1 where allowed.
  std::span<const uint8_t> AllowedRow(size_t item) const {
    return std::span(allowed).subspan(item * num_devices, num_devices);
  }
  // Writes where the groups [n] go if the bins go to these devices [k]. A group that may not go to the device of its
  // bin goes to the first one that it may go to.
  void Place(const GroupGraph& graph, std::span<const uint8_t> devices, std::span<uint8_t> groups) const;

  size_t num_devices = 0;              // D
  std::vector<uint8_t> bins;           // [k]
  std::vector<uint8_t> item_of_group;  // [n] index into `bins`
  std::vector<uint8_t> allowed;        // [k * D]
};

}  // namespace emplace
