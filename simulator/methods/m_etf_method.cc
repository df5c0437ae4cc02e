#include "simulator/methods/m_etf_method.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <vector>

#include "simulator/methods/list_schedule.h"

namespace emplace {
namespace {

// An op that could run, where it could start first. Start times only grow while a schedule does, so an entry that is out of
// date is too early, never too late: it is put back with its new time when it comes up.
struct Ready {
  double start_us;
  OpIndex op;
  DeviceIndex device;

  bool operator>(const Ready& other) const {
    return std::tie(start_us, op, device) > std::tie(other.start_us, other.op, other.device);
  }
};

Ready EarliestStart(ListSchedule& schedule, OpIndex op) {
  Ready best{0, op, -1};
  for (const DeviceIndex device : schedule.Candidates(op)) {
    const double start_us = schedule.AppendedStartUs(op, device);
    if (best.device < 0 || start_us < best.start_us) best = {start_us, op, device};
  }
  return best;
}

Placement Schedule(const ScheduleGraph& graph, ListSchedule& schedule) {
  const SimGraph& sim = graph.task().sim;
  std::vector<int32_t> missing = sim.num_inputs;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (const OpIndex op : graph.topological_order()) {
    if (missing[static_cast<size_t>(op)] == 0) ready.push(EarliestStart(schedule, op));
  }
  while (!ready.empty()) {
    const Ready first = ready.top();
    ready.pop();
    const Ready now = EarliestStart(schedule, first.op);
    if (now > first) {
      ready.push(now);
      continue;
    }
    schedule.Place(now.op, now.device, now.start_us);
    const auto o = static_cast<size_t>(now.op);
    for (int32_t tensor = sim.tensor_begin[o]; tensor < sim.tensor_begin[o + 1]; ++tensor) {
      for (const int32_t consumer : sim.tensor_consumers.Row(tensor)) {
        if (--missing[static_cast<size_t>(consumer)] == 0) ready.push(EarliestStart(schedule, consumer));
      }
    }
  }
  return schedule.placement();
}

}  // namespace

MethodResult MEtfMethod::Place(const PlacementTask& task) {
  const ScheduleGraph graph(task);
  return ScheduleWithinMemory(graph, [&](ListSchedule& schedule) { return Schedule(graph, schedule); });
}

}  // namespace emplace
