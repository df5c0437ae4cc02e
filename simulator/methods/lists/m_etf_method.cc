#include "simulator/methods/lists/m_etf_method.h"

#include <functional>
#include <queue>
#include <vector>

#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/lists/start_looks.h"

namespace emplace {
namespace {

class EtfScheduler {
 public:
  EtfScheduler(const ScheduleGraph& graph, ListSchedule& schedule)
      : schedule_(schedule), tracker_(graph), looks_(graph), placed_(static_cast<size_t>(graph.num_ops())) {}

  Placement Run() {
    std::vector<OpIndex> became_ready = tracker_.First();
    for (int32_t left = static_cast<int32_t>(placed_.size()); left > 0; --left) {
      for (const OpIndex op : became_ready) queue_.push(EarliestStart(op));
      became_ready.clear();
      const PossibleStart first = TakeFirst();
      looks_.Earn(first.op);
      schedule_.Place(first.op, first.device, first.us);
      placed_[static_cast<size_t>(first.op)] = true;
      tracker_.Placed(first.op, became_ready);
    }
    return schedule_.placement();
  }

 private:
  PossibleStart EarliestStart(OpIndex op) {
    looks_.Spend(op);
    PossibleStart best{0, op, -1};
    for (const DeviceIndex device : schedule_.Candidates(op)) {
      const double start_us = schedule_.AppendedStartUs(op, device);
      if (best.device < 0 || start_us < best.us) best = {start_us, op, device};
    }
    return best;
  }

  // Start times only grow while a schedule does, so an entry that is out of date is too early, never too late: it is
  // put back with its new time when it comes up.
  PossibleStart TakeFirst() {
    PossibleStart best;
    while (best.op < 0 || looks_.any_left()) {
      const PossibleStart known = queue_.top();
      queue_.pop();
      if (placed_[static_cast<size_t>(known.op)]) continue;
      const PossibleStart now = EarliestStart(known.op);
      if (now <= known) return now;
      queue_.push(now);
      if (best.op < 0 || now < best) best = now;
    }
    return best;  // Its entry stays in the queue.
  }

  ListSchedule& schedule_;
  ReadyOps tracker_;
  StartLooks looks_;
  std::vector<bool> placed_;  // [n]
  std::priority_queue<PossibleStart, std::vector<PossibleStart>, std::greater<>> queue_;
};

}  // namespace

MethodResult MEtfMethod::Place(const PlacementTask& task) {
  const ScheduleGraph graph(task, stop_);
  return ScheduleWithinMemory(graph, [&](ListSchedule& schedule) { return EtfScheduler(graph, schedule).Run(); });
}

}  // namespace emplace
