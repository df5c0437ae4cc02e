// What the event loop and the link model of one run share: the graph, the placement, the devices, what waits and what
// is to come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/csr.h"
#include "common/ids.h"
#include "common/trajectory.h"
#include "simulator/event_slots.h"
#include "simulator/linked_queues.h"
#include "simulator/sim_graph.h"
#include "simulator/timeline.h"

namespace emplace {

// A device has an op whose end is to come, or idles; it takes its next op, in advance, when that end comes: its queue
// is first come, first served, so nothing later can change what that is or when it starts. Slots: devices [0, D), then
// the L slots of the link model. Events at equal times go by rank: input-ready [0, n) by producer, link turns [n, n +
// L), device turns [n + L, n + L + D). The end of an op that takes no time has the rank of its device's turn, at which
// it starts: all inputs that get ready at that time come before.
//
// An op's end makes all its local consumers ready in one go, and a delivery all that it serves. That is rule 6's order,
// by (producer, consumer): ranks go by producer, each goes over its consumers in ascending order, and two deliveries of
// one producer at one time go to different devices, whose queues do not meet.
struct RunState {
  struct OpState {
    int32_t missing;  // Inputs that are not ready.
    DeviceIndex device;
  };

  // REQUIRES: sim_graph outlives it; a run delivers at most so many transfers.
  RunState(const SimGraph& sim_graph, size_t num_link_slots, size_t most_transfers);
  void Reset(std::span<const DeviceIndex> placement, bool keep_the_transfers);

  size_t DeviceOf(OpIndex op) const { return static_cast<size_t>(ops[static_cast<size_t>(op)].device); }

  void ScheduleDelivery(size_t link, double time_us, int32_t tensor) {
    events.Schedule(num_devices + link, time_us, static_cast<size_t>(producer_of[static_cast<size_t>(tensor)]));
  }
  void ScheduleLinkTurn(size_t link, double time_us) { events.Schedule(num_devices + link, time_us, num_ops + link); }
  bool LinkIsIdle(size_t link) const { return events.Idle(num_devices + link); }
  void CancelLink(size_t link) { events.Cancel(num_devices + link); }

  // One input of `op` is ready now, if it `is_ready`; what is not saves the caller a branch. Whether it was the last
  // one.
  bool TakeInput(OpIndex op, bool is_ready) {
    OpState& state = ops[static_cast<size_t>(op)];
    state.missing -= static_cast<int32_t>(is_ready);
    return is_ready && state.missing == 0;
  }
  void QueueOp(OpIndex op, double now) {
    const size_t device = DeviceOf(op);
    PushOp(op, device);
    if (events.Idle(device)) StartNextOp(device, now);
  }
  // REQUIRES: `device` is its own, and does not idle. What a large graph keeps of the op outside the caches is asked
  // for here and in StartNextOp, so that it comes while others run.
  void PushOp(OpIndex op, size_t device) {
    device_queue.Push(device, op);
    __builtin_prefetch(&graph.cost_us[static_cast<size_t>(op) * num_devices]);
    __builtin_prefetch(&consumers.begin[static_cast<size_t>(op)]);
  }
  // Of the device's queue, now or when the device is free. REQUIRES: something is queued, and no end is to come.
  void StartNextOp(size_t device, double now) {
    const OpIndex op = device_queue.Pop(device);
    __builtin_prefetch(consumers.items.data() + consumers.begin[static_cast<size_t>(op)]);
    const double start = std::max(now, device_free_at[device]);
    const double cost = graph.cost_us[static_cast<size_t>(op) * num_devices + device];
    const double finish = start + cost;
    timeline.start_us[static_cast<size_t>(op)] = start;
    timeline.finish_us[static_cast<size_t>(op)] = finish;
    device_free_at[device] = cost == 0 ? finish : finish + graph.op_overhead_us;
    events.Schedule(device, finish, finish > start ? static_cast<size_t>(op) : num_ops + link_slots + device);
  }

  void LogOpEnd(OpIndex op) { log[log_size++] = op; }
  void LogDelivery(int32_t transfer) { log[log_size++] = ~transfer; }

  // Calls visit(span) for all that Reset sets and events change, but what each op waits for, which follows from the log
  // and the placement.
  template <typename Visit>
  void VisitState(Visit&& visit) {
    events.VisitState(visit);
    device_queue.VisitState(visit);
    visit(std::span(device_free_at));
    visit(std::span(&log_size, 1));
  }

  // Devices, the channels of a topology, and its network's turn.
  static_assert(kMaxDevices + 2 * kMaxTopologyLinks + 1 <= static_cast<int>(EventSlots::kMaxSlots));

  const SimGraph& graph;
  const size_t num_ops;
  const size_t num_devices;
  const size_t link_slots;
  // The consumers of each op over all its tensors, ascending; one that reads several of them stands there as often.
  Csr consumers;
  std::vector<OpIndex> producer_of;  // [T]

  bool keep_transfers = false;  // Whether timeline.transfers is wanted.
  EventSlots events;
  std::vector<OpState> ops;            // [n]
  LinkedQueues device_queue;           // [D] of ops; all that were pushed are the ops of a device as they start.
  std::vector<double> device_free_at;  // [D] us; when it can take the op after the last that it took
  std::vector<int32_t> log;            // [n + most transfers] what made inputs ready: op ends, deliveries as ~transfer
  size_t log_size = 0;
  Timeline timeline;
};

}  // namespace emplace
