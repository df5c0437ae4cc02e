#include "simulator/methods/max_load.h"

#include <algorithm>
#include <vector>

#include "simulator/methods/split_problem.h"

namespace emplace {

double MaxLoadUs(const PlacementTask& task, std::span<const DeviceIndex> placement) {
  const ScheduleGraph graph(task);
  const std::vector<double> room(static_cast<size_t>(task.sim.num_devices));  // Loads do not depend on it.
  const std::vector<double> loads_us = LoadsUs(MakeSplitProblem(graph, SplitNodes::kOps, room).problem, placement);
  return *std::max_element(loads_us.begin(), loads_us.end());
}

}  // namespace emplace
