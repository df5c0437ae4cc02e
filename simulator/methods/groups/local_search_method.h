// `local-search`: greedy descent by small random moves of groups, repeated from random placements. The comparison with
// it shows what annealing gains.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class LocalSearchMethod : public PlacementMethod {
 public:
  explicit LocalSearchMethod(const MethodOptions& options);  // Throws BadInput without a budget or seconds.
  bool draws() const override { return true; }
  bool searches() const override { return true; }
  bool places_groups() const override { return true; }
  // The first descent starts from the best single device. Uses the whole budget, unless there is only one placement.
  MethodResult Place(const PlacementTask& task) override;

 private:
  MethodOptions options_;
};

}  // namespace emplace
