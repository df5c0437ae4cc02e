// `single`: all ops on the single device with the least makespan. Devices that fit the graph in
// memory come before others.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class SingleMethod : public PlacementMethod {
 public:
  explicit SingleMethod(const MethodOptions& options);
  MethodResult Place(const PlacementTask& task) override;
};

}  // namespace emplace
