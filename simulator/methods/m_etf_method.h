// `m-etf`: memory-constrained Earliest Task First (Baechi, Jeon et al., SoCC 2020, section 3): of all ops whose inputs
// are made, the op and device with the earliest start come next; devices without room are left out.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class MEtfMethod : public PlacementMethod {
 public:
  explicit MEtfMethod(const MethodOptions& /*options*/) {}
  MethodResult Place(const PlacementTask& task) override;
};

}  // namespace emplace
