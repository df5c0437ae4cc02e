// `m-topo`: memory-constrained topological placement (Baechi, Jeon et al., SoCC 2020, section 3). The ops, in
// topological order, fill one device after the other, each device up to an equal share of the memory that all ops need.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class MTopoMethod : public PlacementMethod {
 public:
  explicit MTopoMethod(const MethodOptions& options) : stop_(options.stop) {}
  MethodResult Place(const PlacementTask& task) override;

 private:
  StopSignal stop_;
};

}  // namespace emplace
