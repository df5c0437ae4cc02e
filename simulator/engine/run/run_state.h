// The state of a run that the event loop and the link model share: graph, placement, devices, queues and coming events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/csr.h"
#include "common/ids.h"
#include "simulator/engine/run/event_slots.h"
#include "simulator/engine/run/linked_queues.h"
#include "simulator/engine/sim_graph.h"
#include "simulator/engine/timeline.h"
#include "simulator/graph/device_order.h"

namespace emplace {

// A device has one coming event, the end of its op, or idles. It takes its next op in advance, when the op before ends;
// which one, a kind of run says (queues/). Event slots: devices [0, D), then the L slots of the link model. Events at
// equal times go by rank: ready inputs [0, n) by producer, then link turns [n, n + L), then device turns [n + L, n + L
// + D). The end of an op that takes no time has the rank of its device's turn, at which the op starts, so all inputs
// that get ready at that time come before.
//
// An op's end makes all its local consumers ready at once, and a delivery all readers that it serves. This is the order
// by (producer, consumer) of docs/design-simulator.md: ranks go by producer, each event goes over its consumers in
// ascending order, and two deliveries of one producer at one time go to different devices, whose queues are separate.
//
// Free sources (free_sources.h) that go before all else are not queued. Those of a device run as one event, at the
// device's turn at time 0.
//
// The order of a device is as many inputs more: each op of the order, when it ends, makes one input of the next one
// ready, on the same device, without a tensor. So at most one op is in the queue of such a device.
struct RunState {
  static constexpr bool kByTurns = false;  // Whether a device waits for its turn before it starts an op (turn_run.h).

  struct OpState {
    int32_t missing;  // Number of inputs that are not ready.
    DeviceIndex device;
  };

  // REQUIRES: sim_graph outlives the state; a run delivers at most `most_transfers` transfers.
  RunState(const SimGraph& sim_graph, const DeviceOrders& orders, size_t num_link_slots, size_t most_transfers);
  // The constructor's part for the orders: makes each one inputs of its ops.
  void CompileOrders(const DeviceOrders& orders);
  // Finds the free sources that go before all else. order: ops in the order in which a device starts those of them that
  // are ready at time 0; all that are ready then, unless one before them in it is not free.
  void FindLeading(std::span<const OpIndex> order);
  void Reset(std::span<const DeviceIndex> placement, bool keep_the_transfers);

  // Whether this is an op, rather than what stands for the leading sources of a device.
  bool IsOp(OpIndex op) const { return op < graph.num_ops; }
  // Schedules the event of the device's leading sources.
  void QueueLeading(size_t device) { ScheduleDeviceTurn(device, 0); }
  // Calls visit(op) for the leading sources of a device, in their order.
  template <typename Visit>
  void ForEachLeading(size_t device, Visit visit) const {
    leading_of.ForEachPushed(device, visit);
  }
  // Calls visit(op) for the ops of a device in the order in which they have started.
  template <typename Visit>
  void ForEachStarted(size_t device, Visit visit) const {
    ForEachLeading(device, visit);
    started.ForEachPushed(device, visit);
  }
  size_t DeviceOf(OpIndex op) const { return static_cast<size_t>(ops[static_cast<size_t>(op)].device); }

  void ScheduleDelivery(size_t link, double time_us, int32_t tensor) {
    events.Schedule(num_devices + link, time_us, static_cast<size_t>(producer_of[static_cast<size_t>(tensor)]));
  }
  void ScheduleLinkTurn(size_t link, double time_us) { events.Schedule(num_devices + link, time_us, num_ops + link); }
  void ScheduleDeviceTurn(size_t device, double time_us) {
    events.Schedule(device, time_us, num_ops + link_slots + device);
  }
  bool LinkIsIdle(size_t link) const { return events.Idle(num_devices + link); }
  void CancelLink(size_t link) { events.Cancel(num_devices + link); }

  // Counts an input of `op` as ready if `is_ready`; the flag saves the caller a branch. Returns whether this was the
  // op's last missing input.
  bool TakeInput(OpIndex op, bool is_ready) {
    OpState& state = ops[static_cast<size_t>(op)];
    state.missing -= static_cast<int32_t>(is_ready);
    return is_ready && state.missing == 0;
  }
  // In a large graph the data of an op is outside the caches, so it is prefetched when the op is queued, and when it
  // starts.
  void PrefetchQueued(OpIndex op) const {
    __builtin_prefetch(&graph.cost_us[static_cast<size_t>(op) * num_devices]);
    __builtin_prefetch(&consumers.begin[static_cast<size_t>(op)]);
  }
  // A device that idles gets an op.
  void CountIdle(size_t device, double now) { idle_us[device] += std::max(0.0, now - device_free_at[device]); }
  // Starts an op at this time, at which the device is free. REQUIRES: no op's end is scheduled on the device, or that
  // of one that has not started.
  void StartOp(OpIndex op, size_t device, double start) {
    __builtin_prefetch(consumers.items.data() + consumers.begin[static_cast<size_t>(op)]);
    const double cost = WriteTimes(op, device, start);
    const double finish = start + cost;
    device_free_at[device] = cost == 0 ? finish : finish + graph.op_overhead_us;
    events.Schedule(device, finish, finish > start ? static_cast<size_t>(op) : num_ops + link_slots + device);
  }
  // Writes when an op starts and finishes. Returns its cost.
  double WriteTimes(OpIndex op, size_t device, double start) {
    const double cost = graph.cost_us[static_cast<size_t>(op) * num_devices + device];
    timeline.start_us[static_cast<size_t>(op)] = start;
    timeline.finish_us[static_cast<size_t>(op)] = start + cost;
    return cost;
  }

  void LogOpEnd(OpIndex op, double now) { Log(op, now); }
  void LogDelivery(int32_t transfer, double now) { Log(~transfer, now); }
  void Log(int32_t entry, double now) {
    log_us[log_size] = now;
    log[log_size++] = entry;
  }

  // Calls visit(span) for all data that events change, except OpState::missing: the log and the placement determine
  // that number.
  template <typename Visit>
  void VisitState(Visit&& visit) {
    events.VisitState(visit);
    started.VisitState(visit);
    visit(std::span(device_free_at));
    visit(std::span(idle_us));
    visit(std::span(&log_size, 1));
  }

  // The data that a run writes once: entries that were written before a snapshot never change. Also the placement.
  struct History {
    std::vector<OpState> ops;
    LinkedQueues::Links device_links;
    std::vector<double> start_us;
    std::vector<double> finish_us;
    std::vector<int32_t> log;
    std::vector<double> log_us;
  };
  History MakeHistory() const;
  void SwapHistory(History& other);
  // After a snapshot of the run that wrote `other` was restored: takes over from it what the events to come read.
  void TakeQueued(const History& other);
  // Takes over the rest of what was written before the first `log_events` events.
  void TakePast(const History& other, size_t log_events);

  // There is a slot for each device, for each channel of a topology, for the network's turn, and, if transfers block
  // devices, for the moment at which each gets free.
  static_assert(2 * kMaxDevices + 2 * kMaxTopologyLinks + 1 <= static_cast<int>(EventSlots::kMaxSlots));

  const SimGraph& graph;
  const size_t num_ops;
  const size_t num_devices;
  const size_t link_slots;
  // [n] consumers of all tensors of an op, and the next op in its device's order, ascending; an op that is several of
  // these is listed as often.
  Csr consumers;
  std::vector<int32_t> num_inputs;   // [n] number of times that the op is listed in `consumers`
  std::vector<OpIndex> producer_of;  // [T]
  std::vector<uint8_t> is_free;      // [n] FreeSources
  // The free sources that go before all else, in their order on each device; and [n] 1: the op is one of them.
  std::vector<OpIndex> leading;
  std::vector<uint8_t> leads;
  LinkedQueues leading_of;            // [D] those of each device
  std::vector<OpIndex> first_queued;  // The other ops without inputs, ascending.

  bool keep_transfers = false;  // Whether to write timeline.transfers.
  EventSlots events;
  std::vector<OpState> ops;  // [n]
  // [D] the ops of a device, but for the leading sources, in the order of their starts, by the rules of queues/
  LinkedQueues started;
  std::vector<double> device_free_at;  // [D] us; when the device can start its next op
  std::vector<double> idle_us;         // [D] for how long the device has had nothing to run before its last op
  // [n + most transfers] events that made inputs ready: op ends as op, deliveries as ~transfer
  std::vector<int32_t> log;
  std::vector<double> log_us;  // [n + most transfers] when each of them was
  size_t log_size = 0;
  Timeline timeline;
};

}  // namespace emplace
