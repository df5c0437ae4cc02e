#include "simulator/methods/m_etf_method.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <vector>

#include "simulator/methods/list_schedule.h"

namespace emplace {
namespace {

// An op that could run, where it could start first. Start times only grow while a schedule does, so an entry that is
// out of date is too early, never too late: it is put back with its new time when it comes up.
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
  ReadyOps tracker(graph);
  std::vector<OpIndex> became_ready = tracker.First();
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> queue;
  while (!became_ready.empty() || !queue.empty()) {
    for (const OpIndex op : became_ready) queue.push(EarliestStart(schedule, op));
    became_ready.clear();
    const Ready first = queue.top();
    queue.pop();
    const Ready now = EarliestStart(schedule, first.op);
    if (now > first) {
      queue.push(now);
      continue;
    }
    schedule.Place(now.op, now.device, now.start_us);
    tracker.Placed(now.op, became_ready);
  }
  return schedule.placement();
}

}  // namespace

MethodResult MEtfMethod::Place(const PlacementTask& task) {
  const ScheduleGraph graph(task);
  return ScheduleWithinMemory(graph, [&](ListSchedule& schedule) { return Schedule(graph, schedule); });
}

}  // namespace emplace
