// `dp`: the contiguous division with the least load of the busiest device, by dynamic programming (Tarnawski et al.,
// NeurIPS 2020; contiguous_split.h), over the units of the graph, over its stages, and over the ops of small graphs.
//
// For Objective::kThroughput it returns the division with the least such load that fits the memory; for
// Objective::kLatency the one with the shortest makespan, of the best divisions on one device, on two, and so on.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class DpMethod : public PlacementMethod {
 public:
  explicit DpMethod(const MethodOptions& options) : objective_(options.objective), stop_(options.stop) {}
  MethodResult Place(const PlacementTask& task) override;

 private:
  const Objective objective_;
  const StopSignal stop_;
};

}  // namespace emplace
