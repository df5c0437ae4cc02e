// Where to draw the nodes of an acyclic graph, so that edges point one way and cross little.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace emplace {

struct LayeredLayout {
  int32_t num_layers = 0;
  std::vector<int32_t> layer;    // [n] an edge leads to a higher layer
  std::vector<double> position;  // [n] along the layer; nodes of one layer are at least 1 apart, the least is 0
};

// edges: (from, to) with from < to < num_nodes. Sugiyama's method in short: layers by the longest path, order within a
// layer by the mean of its neighbours, positions as near to that mean as the distances allow. Deterministic.
LayeredLayout LayOut(int32_t num_nodes, const std::vector<std::pair<int32_t, int32_t>>& edges);

}  // namespace emplace
