// `annealing`: simulated annealing over group placements from several starts, then greedy local search from the best
// one. A graph's headroom is measured with this method.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class AnnealingMethod : public PlacementMethod {
 public:
  explicit AnnealingMethod(const MethodOptions& options);  // Throws BadInput unless budget >= 1.
  bool draws() const override { return true; }
  // The result is never worse than that of `single`. Uses the whole budget, unless there is only one placement.
  MethodResult Place(const PlacementTask& task) override;

 private:
  int64_t budget_;
  uint64_t seed_;
};

}  // namespace emplace
