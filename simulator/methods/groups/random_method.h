// `random`: the best of many placements drawn uniformly over the devices allowed to each group.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class RandomMethod : public SearchingMethod {
 public:
  using SearchingMethod::SearchingMethod;
  bool places_groups() const override { return true; }
  MethodResult Place(const PlacementTask& task) override;
};

}  // namespace emplace
