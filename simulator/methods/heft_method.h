// `heft`: Heterogeneous Earliest Finish Time (Topcuoglu et al., IEEE TPDS 2002): ops by decreasing upward rank, each
// where it would finish first, in gaps too. Colocated ops follow the first of them.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class HeftMethod : public PlacementMethod {
 public:
  explicit HeftMethod(const MethodOptions& /*options*/) {}
  MethodResult Place(const PlacementTask& task) override;
};

}  // namespace emplace
