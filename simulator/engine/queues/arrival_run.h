// A run whose devices serve their queues first come, first served.
#pragma once

#include <algorithm>
#include <cstddef>

#include "simulator/engine/run/run_state.h"

namespace emplace {

// A device takes its next op in advance, when the op before ends: nothing later can change which op that is or when it
// starts. So the ops of `started` that have not been popped wait, and the last one popped runs.
struct ArrivalRun : RunState {
  using RunState::RunState;

  bool NoneWaits(size_t device) const { return started.Empty(device); }
  OpIndex EndOp(size_t device) { return started.LastPopped(device); }  // Before the first op, it is none (IsOp).
  void PushOp(OpIndex op, size_t device) {
    started.Push(device, op);
    PrefetchQueued(op);
  }
  void QueueOp(OpIndex op, double now) {
    const size_t device = DeviceOf(op);
    PushOp(op, device);
    if (!events.Idle(device)) return;
    CountIdle(device, now);
    StartNextOp(device, now);
  }
  OpIndex TakeNext(size_t device) { return started.Pop(device); }
  void StartNextOp(size_t device, double now) {
    StartOp(TakeNext(device), device, std::max(now, device_free_at[device]));
  }
};

}  // namespace emplace
