// `optimal`: the best placement of all, by branch and bound over the groups. On small graphs, other methods are
// compared with it.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

// The number of placements of the task's groups.
double CountGroupPlacements(const PlacementTask& task);

class OptimalMethod : public PlacementMethod {
 public:
  explicit OptimalMethod(const MethodOptions& options) : stop_(options.stop) {}
  bool places_groups() const override { return true; }
  // Throws BadInput if there are more than 2^24 placements (24 groups on two devices, 12 on four).
  MethodResult Place(const PlacementTask& task) override;

 private:
  StopSignal stop_;
};

}  // namespace emplace
