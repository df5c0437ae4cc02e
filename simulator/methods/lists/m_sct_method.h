// `m-sct`: memory-constrained Small Communication Times (Baechi, Jeon et al., SoCC 2020, section 3.2, after Hanen and
// Munier 1995). It works as m-etf, but a device that has just run an op waits for that op's favourite child for as long
// as the op's result would travel, unless another op is urgent, that is, ready on every device.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class MSctMethod : public PlacementMethod {
 public:
  explicit MSctMethod(const MethodOptions& options) : stop_(options.stop) {}
  // Solves a linear program with a variable for each op and each dependency, which takes seconds for thousands of ops.
  MethodResult Place(const PlacementTask& task) override;

 private:
  StopSignal stop_;
};

}  // namespace emplace
