// A run whose devices start, of the ops that are ready, the one of the highest priority.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/engine/queues/place_sets.h"
#include "simulator/engine/run/run_state.h"

namespace emplace {

// A device chooses its next op when the op before ends. If one of higher priority gets ready before that op starts, for
// the device is busy until then, the device starts the new one in its place. Ops that start are pushed to `started`,
// and popped, when they end.
struct PriorityRun : RunState {
  using RunState::RunState;

  // first_to_last: [n] all ops by falling priority. What was run before does not count any more.
  void SetPriority(std::span<const OpIndex> first_to_last) {
    op_at.assign(first_to_last.begin(), first_to_last.end());
    place_of.resize(op_at.size());
    for (size_t place = 0; place < op_at.size(); ++place)
      place_of[static_cast<size_t>(op_at[place])] = static_cast<int32_t>(place);
    FindLeading(op_at);
  }
  void Reset(std::span<const DeviceIndex> placement, bool keep_the_transfers) {
    RunState::Reset(placement, keep_the_transfers);
    waiting.Clear();
  }

  bool NoneWaits(size_t device) const { return waiting.Empty(device); }
  OpIndex EndOp(size_t device) {
    const OpIndex op = next[device].op;
    if (IsOp(op)) {
      started.Push(device, op);
      started.Pop(device);
    }
    return op;
  }
  void QueueLeading(size_t device) {
    RunState::QueueLeading(device);
    next[device] = {graph.num_ops, -1};  // No op; as if started, so that none takes its place.
  }
  void PushOp(OpIndex op, size_t device) {
    waiting.Add(device, PlaceOf(op));
    PrefetchQueued(op);
  }
  void QueueOp(OpIndex op, double now) {
    const size_t device = DeviceOf(op);
    if (events.Idle(device)) {
      CountIdle(device, now);
      Start(op, device, std::max(now, device_free_at[device]));
    } else if (next[device].start_us >= now && PlaceOf(op) < PlaceOf(next[device].op)) {
      PushOp(next[device].op, device);
      Start(op, device, next[device].start_us);
    } else {
      PushOp(op, device);
    }
  }
  OpIndex TakeNext(size_t device) { return op_at[waiting.TakeLeast(device)]; }
  void StartNextOp(size_t device, double now) {
    Start(TakeNext(device), device, std::max(now, device_free_at[device]));
  }

  template <typename Visit>
  void VisitState(Visit&& visit) {
    RunState::VisitState(visit);
    waiting.VisitState(visit);
    visit(std::span(next));
  }
  // The ops that run have been written to the history of another run, some perhaps at a later time than they had at
  // this moment.
  void TakeQueued(const History& other) {
    RunState::TakeQueued(other);
    for (size_t device = 0; device < num_devices; ++device) {
      if (!events.Idle(device)) WriteTimes(next[device].op, device, next[device].start_us);
    }
  }

  // The op that a device runs or will start next.
  struct Next {
    OpIndex op = 0;
    double start_us = 0;
  };

  size_t PlaceOf(OpIndex op) const { return static_cast<size_t>(place_of[static_cast<size_t>(op)]); }
  void Start(OpIndex op, size_t device, double start_us) {
    next[device] = {op, start_us};
    StartOp(op, device, start_us);
  }

  std::vector<OpIndex> op_at;               // [n] the ops by falling priority
  std::vector<int32_t> place_of;            // [n] where each op is in op_at
  PlaceSets waiting{num_devices, num_ops};  // [D] places of the ops that are ready, without those that are next
  std::vector<Next> next = std::vector<Next>(num_devices);  // [D] what a device that does not idle runs
};

}  // namespace emplace
