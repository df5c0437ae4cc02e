// `data-parallel`: each micro-batch on one device, as people train on several devices by hand. Units that no
// micro-batch has to itself, which are parameters with their gradients' sums and updates, are spread evenly by their
// bytes, so that every link carries its share (as ZeRO does: Rajbhandari et al., SC 2020). Where a parameter is larger
// than what the micro-batches would send to it, their ops go to the parameter, if the step is then faster. A graph
// without micro-batches goes to one device.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class DataParallelMethod : public PlacementMethod {
 public:
  explicit DataParallelMethod(const MethodOptions& /*options*/) {}
  MethodResult Place(const PlacementTask& task) override;
};

}  // namespace emplace
