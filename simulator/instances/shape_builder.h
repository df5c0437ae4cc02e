// Adds the nodes of a shape one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/rng.h"
#include "common/sort_unique.h"
#include "simulator/instances/dag_shapes.h"

namespace emplace {

class ShapeBuilder {
 public:
  explicit ShapeBuilder(int32_t nodes) : nodes_(nodes) {}

  // Whether there are enough nodes. More may be added; Take leaves the last ones out.
  bool full() const { return size() >= nodes_; }
  int32_t size() const { return static_cast<int32_t>(shape_.reads.size()); }
  int32_t left() const { return nodes_ - size(); }

  // Returns the new node. reads: nodes, in any order and repeated; what is below 0 is left out.
  int32_t Add(std::vector<int32_t> reads, int32_t role, int32_t stage) {
    std::erase_if(reads, [](int32_t node) { return node < 0; });
    SortUnique(reads);
    shape_.reads.push_back(std::move(reads));
    shape_.role.push_back(role);
    shape_.stage.push_back(stage);
    return size() - 1;
  }

  DagShape Take() {
    const auto nodes = static_cast<size_t>(nodes_);
    shape_.reads.resize(nodes);
    shape_.role.resize(nodes);
    shape_.stage.resize(nodes);
    return std::move(shape_);
  }

 private:
  const int32_t nodes_;
  DagShape shape_;
};

inline int32_t DrawInt(Rng& rng, int32_t low, int32_t high) { return static_cast<int32_t>(rng.UniformInt(low, high)); }

}  // namespace emplace
