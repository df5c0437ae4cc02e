// `random`: the best of many placements drawn uniformly over the devices allowed to each group.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class RandomMethod : public PlacementMethod {
 public:
  explicit RandomMethod(const MethodOptions& options);  // Throws BadInput without a budget or seconds.
  bool draws() const override { return true; }
  bool searches() const override { return true; }
  bool places_groups() const override { return true; }
  MethodResult Place(const PlacementTask& task) override;

 private:
  MethodOptions options_;
};

}  // namespace emplace
