#include "simulator/methods/lists/m_sct_method.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

#include "simulator/methods/lists/favourite_children.h"
#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/lists/start_looks.h"

namespace emplace {
namespace {

class SctScheduler {
 public:
  SctScheduler(const ScheduleGraph& graph, const std::vector<OpIndex>& favourite, ListSchedule& schedule)
      : graph_(graph),
        favourite_(favourite),
        schedule_(schedule),
        looks_(graph),
        awake_(static_cast<size_t>(graph.num_devices())) {}

  Placement Run() {
    ReadyOps tracker(graph_);
    std::vector<OpIndex> became_ready = tracker.First();
    for (int32_t left = graph_.num_ops(); left > 0; --left) {
      for (const OpIndex op : became_ready) queue_.push({0, op, -1});
      became_ready.clear();
      const PossibleStart first = TakeFirst();
      looks_.Earn(first.op);
      Place(first);
      tracker.Placed(first.op, became_ready);
    }
    return schedule_.placement();
  }

 private:
  // A device waits for the favourite child of what it ran last.
  struct Awake {
    OpIndex child = -1;  // -1: for nothing.
    double until_us = 0;
  };

  // The first of all ready ops, or, where no more looks are left, of some that seemed to start first.
  PossibleStart TakeFirst() {
    looked_at_.clear();
    while (!queue_.empty() && (looked_at_.empty() || looks_.any_left())) {
      looked_at_.push_back(EarliestStart(queue_.top().op));
      queue_.pop();
    }
    const auto first = std::ranges::min_element(looked_at_);
    for (auto at = looked_at_.begin(); at != looked_at_.end(); ++at) {
      if (at != first) queue_.push(*at);
    }
    return *first;
  }

  PossibleStart EarliestStart(OpIndex op) {
    looks_.Spend(op);
    PossibleStart best{std::numeric_limits<double>::infinity(), op, -1};
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

  void Place(const PossibleStart& start) {
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
  StartLooks looks_;
  std::vector<Awake> awake_;  // [D]
  // The ready ops, by when they seemed to start; those not looked at yet first.
  std::priority_queue<PossibleStart, std::vector<PossibleStart>, std::greater<>> queue_;
  std::vector<PossibleStart> looked_at_;  // Scratch.
};

}  // namespace

MethodResult MSctMethod::Place(const PlacementTask& task) {
  const ScheduleGraph graph(task, stop_);
  const std::vector<OpIndex> favourite = FavouriteChildren(graph);
  return ScheduleWithinMemory(graph,
                              [&](ListSchedule& schedule) { return SctScheduler(graph, favourite, schedule).Run(); });
}

}  // namespace emplace
