// `annealing`: simulated annealing over group placements from several starts, then greedy local search from the best.
// It is what one graph's headroom is measured with, and what a policy has to come near in one pass.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class AnnealingMethod : public PlacementMethod {
 public:
  explicit AnnealingMethod(const MethodOptions& options);  // Throws BadInput unless budget >= 1.
  bool draws() const override { return true; }
  // Never worse than `single`. Uses the whole budget, unless no group has a choice.
  MethodResult Place(const PlacementTask& task) override;

 private:
  int64_t budget_;
  uint64_t seed_;
};

}  // namespace emplace
