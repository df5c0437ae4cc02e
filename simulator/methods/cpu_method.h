// `cpu`: all ops on the first device whose kind is "cpu". It finds no placement if there is no such device, or if the
// device may not run every op.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class CpuMethod : public PlacementMethod {
 public:
  explicit CpuMethod(const MethodOptions& /*options*/) {}
  MethodResult Place(const PlacementTask& task) override;
};

}  // namespace emplace
