// What a network knows of each group of a graph before anything is placed, and which groups are neighbours. No
// LibTorch.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/task/placement_task.h"

namespace emplace {

// The columns of GroupFeatures::nodes. "Share": divided by the largest of the graph. "Log": log(1 + x), over a constant
// that brings it near 1, so that sizes can be told across graphs.
enum class GroupFeature : int32_t {
  kCostShare,
  kCostLog,
  kOutputShare,
  kOutputLog,
  kMemoryShare,
  kMemoryLog,
  kParentsLog,
  kChildrenLog,
  kFromStart,  // The most expensive path that ends before the group, as a share of the most expensive path of all.
  kToEnd,      // Likewise the path that begins with the group.
  kPosition,   // The group's index over that of the last group: 0 to 1.
  kCount,
};
inline constexpr int32_t kNumGroupFeatures = static_cast<int32_t>(GroupFeature::kCount);

struct GroupFeatures {
  int32_t num_groups = 0;    // n
  std::vector<float> nodes;  // [n, kNumGroupFeatures] row-major
  // The pairs of neighbours, each in both directions: to[i] hears from from[i].
  std::vector<int64_t> from;
  std::vector<int64_t> to;
};

GroupFeatures MakeGroupFeatures(const GroupGraph& graph);

}  // namespace emplace
