#include "simulator/methods/single_method.h"

namespace emplace {

SingleMethod::SingleMethod(const MethodOptions&) {}

MethodResult SingleMethod::Place(const PlacementTask& task) {
  // The task found its best single device when it was made, trying each one.
  MethodResult result;
  result.evaluations = task.sim.num_devices;
  if (task.single_device >= 0) {
    result.placement = Placement(static_cast<size_t>(task.sim.num_ops), task.single_device);
  }
  return result;
}

}  // namespace emplace
