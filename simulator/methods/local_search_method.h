// `local-search`: greedy descent by small random moves of groups, again and again from random placements. What
// annealing is worth shows beside it.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class LocalSearchMethod : public PlacementMethod {
 public:
  explicit LocalSearchMethod(const MethodOptions& options);  // Throws BadInput unless budget >= 1.
  bool draws() const override { return true; }
  // The first descent is from the single device. Uses the whole budget, unless no group has a choice.
  MethodResult Place(const PlacementTask& task) override;

 private:
  int64_t budget_;
  uint64_t seed_;
};

}  // namespace emplace
