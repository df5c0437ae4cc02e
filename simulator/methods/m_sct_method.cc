#include "simulator/methods/m_sct_method.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "simulator/methods/favourite_children.h"
#include "simulator/methods/list_schedule.h"

namespace emplace {
namespace {

class SctScheduler {
 public:
  SctScheduler(const ScheduleGraph& graph, const std::vector<OpIndex>& favourite, ListSchedule& schedule)
      : graph_(graph), favourite_(favourite), schedule_(schedule), awake_(static_cast<size_t>(graph.num_devices())) {}

  Placement Run() {
    ReadyOps tracker(graph_);
    std::vector<OpIndex> ready = tracker.First();
    while (!ready.empty()) {
      size_t chosen = 0;
      Start best{std::numeric_limits<double>::infinity(), 0, -1};
      for (size_t i = 0; i < ready.size(); ++i) {
        const Start start = EarliestStart(ready[i]);
        if (std::tie(start.us, ready[i]) >= std::tie(best.us, best.op)) continue;
        best = start;
        chosen = i;
      }
      ready[chosen] = ready.back();
      ready.pop_back();
      Place(best);
      tracker.Placed(best.op, ready);
    }
    return schedule_.placement();
  }

 private:
  struct Start {
    double us;
    OpIndex op;
    DeviceIndex device;
  };
  // A device waits for the favourite child of what it ran last.
  struct Awake {
    OpIndex child = -1;  // -1: for nothing.
    double until_us = 0;
  };

  Start EarliestStart(OpIndex op) {
    Start best{std::numeric_limits<double>::infinity(), op, -1};
    const std::vector<DeviceIndex> candidates = schedule_.Candidates(op);  // A copy: the urgent look at them too.
    double everywhere_us = 0;
    for (const DeviceIndex device : candidates) everywhere_us = std::max(everywhere_us, schedule_.ReadyUs(op, device));
    for (const DeviceIndex device : candidates) {
      double us = schedule_.AppendedStartUs(op, device);
      const Awake& awake = awake_[static_cast<size_t>(device)];
      const bool urgent = everywhere_us <= us;
      if (awake.child >= 0 && awake.child != op && !urgent) us = std::max(us, awake.until_us);
      if (us < best.us) best = {us, op, device};
    }
    return best;
  }

  void Place(const Start& start) {
    schedule_.Place(start.op, start.device, start.us);
    for (Awake& awake : awake_) {
      if (awake.child == start.op) awake.child = -1;  // It has gone elsewhere, or here.
    }
    const OpIndex child = favourite_[static_cast<size_t>(start.op)];
    Awake& here = awake_[static_cast<size_t>(start.device)];
    here.child = child;
    if (child < 0) return;
    double transfer_us = 0;
    for (const int32_t tensor : graph_.InputsOf(child)) {
      if (graph_.ProducerOf(tensor) == start.op) transfer_us = std::max(transfer_us, graph_.MeanTransferUs(tensor));
    }
    here.until_us = schedule_.finish_us(start.op) + transfer_us;
  }

  const ScheduleGraph& graph_;
  const std::vector<OpIndex>& favourite_;
  ListSchedule& schedule_;
  std::vector<Awake> awake_;  // [D]
};

}  // namespace

MethodResult MSctMethod::Place(const PlacementTask& task) {
  const ScheduleGraph graph(task);
  const std::vector<OpIndex> favourite = FavouriteChildren(graph);
  return ScheduleWithinMemory(graph,
                              [&](ListSchedule& schedule) { return SctScheduler(graph, favourite, schedule).Run(); });
}

}  // namespace emplace
