// Places the nodes of an acyclic graph for drawing, so that all edges point one way and few of them cross.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace emplace {

struct LayeredLayout {
  int32_t num_layers = 0;
  std::vector<int32_t> layer;  // [n] every edge leads to a higher layer
  // [n] position in the layer; nodes of one layer are at least 1 apart, and the lowest position is 0
  std::vector<double> position;
};

// Each edge is (from, to) with from < to < num_nodes. This is a short form of Sugiyama's method: the layer of a node is
// the longest path to it, nodes in a layer are sorted by the mean position of their neighbours, and positions are as
// near to that mean as the distances allow. Deterministic.
LayeredLayout LayOut(int32_t num_nodes, const std::vector<std::pair<int32_t, int32_t>>& edges);

}  // namespace emplace
