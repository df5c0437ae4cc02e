// `knapsack`: for devices of which the fast ones have too little memory, such as GPUs beside a processor. One device,
// most often the slow and large one, takes what is left over; the memory of the others is filled, as in the fractional
// knapsack problem, with the ops that save most time there for each byte. They lie there in the order in which they
// run, device after device, so that few tensors are sent.
#pragma once

#include "simulator/methods/placement_method.h"

namespace emplace {

class KnapsackMethod : public PlacementMethod {
 public:
  explicit KnapsackMethod(const MethodOptions& options) : stop_(options.stop) {}
  // No placement where some op may run on no device that has room for it.
  MethodResult Place(const PlacementTask& task) override;

 private:
  const StopSignal stop_;
};

}  // namespace emplace
