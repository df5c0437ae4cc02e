// `single`: everything on the best single device that may run it, by simulated time; one that holds it in memory first.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class SingleMethod : public PlacementMethod {
 public:
  explicit SingleMethod(const MethodOptions& options);
  MethodResult Place(const PlacementTask& task) override;
};

}  // namespace emplace
