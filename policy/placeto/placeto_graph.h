// A grouped graph as the Placeto network sees it, without what changes during an episode: the features of each group
// that stay the same, and who comes before and after whom.
#pragma once

#include <cstdint>
#include <vector>

#include "common/csr.h"
#include "simulator/task/group_graph.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// n nodes (groups) in topological order: every parent has a lower index, and step t of an episode places node t.
struct PlacetoGraph {
  int32_t num_nodes = 0;
  int32_t num_devices = 0;
  std::vector<float> cost;            // [n] total cost / the graph's maximum
  std::vector<float> bytes;           // [n] total output bytes / the graph's maximum
  std::vector<float> memory;          // [n] resident and temporary bytes / the graph's maximum
  Csr parents;                        // [n] ascending, no repeats
  Csr children;                       // [n] ascending, no repeats; the transpose of `parents`
  std::vector<uint8_t> allowed;       // [n * num_devices] 1 where the group may be placed; every row has a 1
  std::vector<uint64_t> ancestors;    // [n * words()] bit j of row i: a path leads from j to i (i itself excluded)
  std::vector<uint64_t> descendants;  // [n * words()] bit j of row i: a path leads from i to j

  PlacetoGraph() = default;  // Empty.
  // Takes a quarter of n^2 bytes and as long as that: a policy makes it once for each task.
  explicit PlacetoGraph(const GroupGraph& groups);

  int32_t words() const { return (num_nodes + 63) / 64; }
  bool IsAncestor(int32_t node, int32_t other) const { return Bit(ancestors, node, other); }
  bool IsDescendant(int32_t node, int32_t other) const { return Bit(descendants, node, other); }

  // Fills `ancestors` and `descendants` from `parents` and `children`.
  void DeriveClosure();

 private:
  bool Bit(const std::vector<uint64_t>& rows, int32_t row, int32_t bit) const {
    return (rows[static_cast<size_t>(row * words() + bit / 64)] >> (bit % 64) & 1) != 0;
  }
};

// One for each task.
std::vector<PlacetoGraph> MakePlacetoGraphs(const std::vector<PlacementTask>& tasks);
// For kernels, which take graphs by pointer; valid as long as `graphs`.
std::vector<const PlacetoGraph*> PointersTo(const std::vector<PlacetoGraph>& graphs);

// A state of an episode: nodes [0, step) have been decided, node `step` is current, and every node has a device.
struct PlacetoState {
  const PlacetoGraph* graph = nullptr;
  const uint8_t* placement = nullptr;  // [num_nodes] devices
  int32_t step = 0;                    // The current node.
  const float* start_times = nullptr;  // [num_nodes] as StartTimes has them; read only with PlacetoShape::start_times.
};

}  // namespace emplace
