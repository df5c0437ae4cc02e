// `cpu`: everything on the first device whose kind is "cpu"; no placement where there is none, or where it may not run
// every op. The CPU row of the papers' tables.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class CpuMethod : public PlacementMethod {
 public:
  explicit CpuMethod(const MethodOptions& /*options*/) {}
  MethodResult Place(const PlacementTask& task) override;
};

}  // namespace emplace
