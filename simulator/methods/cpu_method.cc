#include "simulator/methods/cpu_method.h"

namespace emplace {

MethodResult CpuMethod::Place(const PlacementTask& task) {
  for (size_t d = 0; d < task.device_kinds.size(); ++d) {
    if (task.device_kinds[d] != "cpu") continue;
    for (size_t o = 0; o < static_cast<size_t>(task.sim.num_ops); ++o) {
      if (!task.sim.MayRun(static_cast<OpIndex>(o), static_cast<DeviceIndex>(d))) return {};
    }
    return {.placement = Placement(static_cast<size_t>(task.sim.num_ops), static_cast<DeviceIndex>(d)),
            .evaluations = 0};
  }
  return {};
}

}  // namespace emplace
