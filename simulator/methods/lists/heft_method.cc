#include "simulator/methods/lists/heft_method.h"

#include <limits>

#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/lists/upward_rank.h"

namespace emplace {
MethodResult HeftMethod::Place(const PlacementTask& task) {
  const ScheduleGraph graph(task, stop_);
  const std::vector<OpIndex> by_rank = ByMeanUpwardRank(graph);
  return ScheduleWithinMemory(graph, [&](ListSchedule& schedule) {
    for (const OpIndex op : by_rank) {
      DeviceIndex best = -1;
      double best_start = 0;
      double best_finish = std::numeric_limits<double>::infinity();
      for (const DeviceIndex device : schedule.Candidates(op)) {
        const double start_us = schedule.InsertedStartUs(op, device);
        const double finish_us = start_us + graph.CostUs(op, device);
        if (finish_us >= best_finish) continue;
        best = device;
        best_start = start_us;
        best_finish = finish_us;
      }
      schedule.Place(op, best, best_start);
    }
    return schedule.placement();
  });
}

}  // namespace emplace
