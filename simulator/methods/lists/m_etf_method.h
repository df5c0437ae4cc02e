// `m-etf`: memory-constrained Earliest Task First (Baechi, Jeon et al., SoCC 2020, section 3). Of all ops whose inputs
// are made, it places the op and device with the earliest start next. It leaves out devices without room.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class MEtfMethod : public PlacementMethod {
 public:
  explicit MEtfMethod(const MethodOptions& options) : stop_(options.stop) {}
  MethodResult Place(const PlacementTask& task) override;

 private:
  StopSignal stop_;
};

}  // namespace emplace
