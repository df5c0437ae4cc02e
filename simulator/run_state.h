// What the event loop and the link model of one run share: the graph, the placement, what waits and what is to come.
#pragma once

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

// A device either runs an op whose end is to come, or has a turn to come, or idles; a link slot likewise with a tensor on its
// way. Slots: devices [0, D), then the L slots of the link model. Events at equal times go by rank: input-ready [0, n) by
// producer, link turns [n, n + L), device turns [n + L, n + L + D).
//
// An op's end makes all its local consumers ready in one go, and a delivery all that it serves. That is rule 6's order, by
// (producer, consumer): ranks go by producer, each goes over its consumers in ascending order, and two deliveries of one
// producer at one time go to different devices, whose queues do not meet.
struct RunState {
  // REQUIRES: sim_graph outlives it.
  RunState(const SimGraph& sim_graph, size_t num_link_slots);
  void Reset(std::span<const DeviceIndex> placement, bool keep_the_transfers);

  size_t DeviceOf(OpIndex op) const { return static_cast<size_t>(place[static_cast<size_t>(op)]); }

  void ScheduleOpEnd(size_t device, double time_us, OpIndex op) { events.Schedule(device, time_us, static_cast<size_t>(op)); }
  void ScheduleDeviceTurn(size_t device, double time_us) {
    events.Schedule(device, time_us, num_ops + link_slots + device);
  }
  void ScheduleDelivery(size_t link, double time_us, int32_t tensor) {
    events.Schedule(num_devices + link, time_us, static_cast<size_t>(producer_of[static_cast<size_t>(tensor)]));
  }
  void ScheduleLinkTurn(size_t link, double time_us) { events.Schedule(num_devices + link, time_us, num_ops + link); }
  bool LinkIsIdle(size_t link) const { return events.Idle(num_devices + link); }
  void CancelLink(size_t link) { events.Cancel(num_devices + link); }

  // `inputs` of what the op waits for are ready now; 0 is harmless, and saves the caller a branch.
  void InputsReady(OpIndex op, int32_t inputs, double now) {
    const int32_t left = missing[static_cast<size_t>(op)] - inputs;
    missing[static_cast<size_t>(op)] = left;
    if (inputs != 0 && left == 0) QueueOp(op, now);
  }
  void QueueOp(OpIndex op, double now) {
    const size_t device = DeviceOf(op);
    device_queue.Push(device, op);
    // An idle device gets its turn now, after all that is ready now; a busy one has its next turn already.
    if (events.Idle(device)) ScheduleDeviceTurn(device, now);
  }

  // Devices, the channels of a topology, and its network's turn.
  static_assert(kMaxDevices + 2 * kMaxTopologyLinks + 1 <= static_cast<int>(EventSlots::kMaxSlots));

  const SimGraph& graph;
  const size_t num_ops;
  const size_t num_devices;
  const size_t link_slots;
  // The consumers of each op over all its tensors, ascending, and how many of its tensors each reads.
  Csr consumers;
  std::vector<int32_t> tensors_read;  // [consumers.items]
  std::vector<OpIndex> producer_of;   // [T]

  std::span<const DeviceIndex> place;
  bool keep_transfers = false;        // Whether timeline.transfers is wanted.
  EventSlots events;
  std::vector<int32_t> missing;       // [n] inputs that are not ready
  LinkedQueues device_queue;          // Of ops.
  std::vector<OpIndex> start_order;   // [n] ops as they started
  Timeline timeline;
};

}  // namespace emplace
