// `data-parallel`: each micro-batch on one device, as people train on several devices by hand. Units that no
// micro-batch has to itself, which are parameters with their gradients' sums and updates, are spread evenly by their
// bytes, so that every link carries its share (as ZeRO does: Rajbhandari et al., SC 2020). Ops that take less time than
// to send their parameter or its gradient, such as embeddings and the last layer of AlexNet, go to the parameter (after
// Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014), unless memory is not short and
// the step is slower then. If neither fits the memory, all ops that exchange most with a parameter may go to it. A
// graph without micro-batches goes to one device.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class DataParallelMethod : public PlacementMethod {
 public:
  explicit DataParallelMethod(const MethodOptions& options) : stop_(options.stop) {}
  MethodResult Place(const PlacementTask& task) override;

 private:
  StopSignal stop_;
};

}  // namespace emplace
