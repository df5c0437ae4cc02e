// `expert`: divides a network as people do by hand. Stages, in order of depth, are cut into stretches, and each
// device gets one stretch, so that the slowest device has as little work as possible. A stage is a cell, module or
// layer, forward and backward. Each workload's file says what its stages are, and a graph has them as attrs
// {"stage": n}. An op without a stage goes with ops of its depth, so a graph without stages is cut into equal
// slices of its longest path.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class ExpertMethod : public PlacementMethod {
 public:
  explicit ExpertMethod(const MethodOptions& options) : stop_(options.stop) {}
  MethodResult Place(const PlacementTask& task) override;

 private:
  StopSignal stop_;
};

}  // namespace emplace
