// `expert`: as practitioners divide a network by hand: its stages, in order of depth, in consecutive stretches on one
// device after the other, so that the slowest device has as little as possible. A stage is a cell, module or layer,
// forward and backward; each workload says in its file what its stages are, and they stand in the graph as attrs
// {"stage": n}. An op without a stage goes with its depth: a graph that names none is cut into equal slices of its
// longest path.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class ExpertMethod : public PlacementMethod {
 public:
  explicit ExpertMethod(const MethodOptions& /*options*/) {}
  MethodResult Place(const PlacementTask& task) override;
};

}  // namespace emplace
