// `random`: the best of `budget` placements drawn uniformly over the devices allowed to each group.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class RandomMethod : public PlacementMethod {
 public:
  explicit RandomMethod(const MethodOptions& options);  // Throws BadInput unless budget >= 1.
  bool draws() const override { return true; }
  MethodResult Place(const PlacementTask& task) override;

 private:
  int64_t budget_;
  uint64_t seed_;
};

}  // namespace emplace
