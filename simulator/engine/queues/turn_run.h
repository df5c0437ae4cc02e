// A run in which transfers block devices (SimGraph::blocking).
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "simulator/engine/queues/arrival_run.h"
#include "simulator/engine/queues/priority_run.h"

namespace emplace {

// A device does one thing at a time: it runs an op, rests for the overhead after one, sends, or receives. It cannot
// know in advance when it will be free, so it takes no op before its turn. Nor does it take one while a tensor that it
// has made waits to be sent. `Queue` says which op is next.
//
// The last of the link model's slots are one for each device, the moment at which it gets free of an overhead or a
// transfer, and the network's turn. At an equal time all of the first come before the network's turn, and that before
// the devices' turns.
template <typename Queue>
struct TurnRun : Queue {
  using Queue::Queue;
  static constexpr bool kByTurns = true;

  void Reset(std::span<const DeviceIndex> placement, bool keep_the_transfers) {
    Queue::Reset(placement, keep_the_transfers);
    std::fill(devices.begin(), devices.end(), DeviceState{});
  }

  // For the event loop. The event of a device is the end of the op that it runs, or else its turn.
  bool Runs(size_t device) const { return devices[device].runs; }
  void TakeTurn(size_t device, double now) {
    this->events.Cancel(device);
    if (!MayStart(device) || Queue::NoneWaits(device)) return;
    const OpIndex op = Queue::TakeNext(device);
    if constexpr (std::is_same_v<Queue, PriorityRun>) {
      this->started.Push(device, op);
      this->started.Pop(device);
    }
    devices[device].runs = true;
    this->CountIdle(device, now);
    this->StartOp(op, device, now);
  }
  OpIndex EndOp(size_t device) {
    devices[device].runs = false;
    return this->started.LastPopped(device);
  }
  bool NoneWaits(size_t /*device*/) const { return false; }
  // After an op: rests, or gets free.
  void StartNextOp(size_t device, double now) {
    this->events.Cancel(device);
    if (this->device_free_at[device] > now) {
      Occupy(device, this->device_free_at[device]);
    } else {
      BeFree(device, now);
    }
  }
  void QueueOp(OpIndex op, double now) {
    const size_t device = this->DeviceOf(op);
    Queue::PushOp(op, device);
    AskForTurn(device, now);
  }

  // For the link model.
  bool MayTransfer(size_t device) const { return !devices[device].runs && !devices[device].occupied; }
  void AddWaitingSend(size_t device) { ++devices[device].waiting_sends; }
  void EndWaitingSend(size_t device) { --devices[device].waiting_sends; }
  void Occupy(size_t device, double until_us) {
    devices[device].occupied = true;
    this->ScheduleLinkTurn(SlotOf(device), until_us);
  }
  void Free(size_t device, double now) {
    devices[device].occupied = false;
    this->CancelLink(SlotOf(device));
    BeFree(device, now);
  }

  template <typename Visit>
  void VisitState(Visit&& visit) {
    Queue::VisitState(visit);
    visit(std::span(devices));
  }
  // The op that a device runs counts as one that has started.
  void TakeQueued(const RunState::History& other) { RunState::TakeQueued(other); }

  struct DeviceState {
    int32_t waiting_sends = 0;  // Transfers of its tensors that have been requested and have not started.
    bool runs = false;          // An op.
    bool occupied = false;      // By an overhead or a transfer.
  };

  bool MayStart(size_t device) const { return MayTransfer(device) && devices[device].waiting_sends == 0; }
  size_t SlotOf(size_t device) const { return this->link_slots - 1 - this->num_devices + device; }
  // The network has its turn first: a transfer may take the device.
  void BeFree(size_t device, double now) {
    this->ScheduleLinkTurn(this->link_slots - 1, now);
    AskForTurn(device, now);
  }
  void AskForTurn(size_t device, double now) {
    if (MayStart(device)) this->ScheduleDeviceTurn(device, now);
  }

  std::vector<DeviceState> devices = std::vector<DeviceState>(this->num_devices);
};

}  // namespace emplace
