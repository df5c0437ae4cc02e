// `heft`: Heterogeneous Earliest Finish Time (Topcuoglu et al., IEEE TPDS 2002). It takes ops by decreasing upward rank
// and puts each on the device where it would finish first, in gaps of the schedule too. Ops that have to be together
// follow the first of them.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class HeftMethod : public PlacementMethod {
 public:
  explicit HeftMethod(const MethodOptions& options) : stop_(options.stop) {}
  MethodResult Place(const PlacementTask& task) override;

 private:
  StopSignal stop_;
};

}  // namespace emplace
