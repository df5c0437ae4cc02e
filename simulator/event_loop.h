// The events of a run, one after the other: ops and devices here, tensors in a link model (links/). The model is a template
// argument, so that a run costs one virtual call and an event none.
//
// A model has so many slots for events to come (NumSlots) and starts at most so many transfers (MostTransfers). It is asked to
// Send what an op that ended has for other devices; what it schedules on its slots comes back, at that time, as OnEvent. When
// nothing is to come any more, Finish brings the timeline's transfers into order and says until when the links are busy. It
// allocates in its constructor only.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "common/error.h"
#include "simulator/run_state.h"

namespace emplace {

class EventLoop {
 public:
  virtual ~EventLoop() = default;
  // Leaves all of the timeline but peak_bytes, and the ops of each device as they started, in state().
  virtual void Run(std::span<const DeviceIndex> placement, bool keep_transfers) = 0;
  RunState& state() { return run_; }

 protected:
  EventLoop(const SimGraph& graph, size_t link_slots) : run_(graph, link_slots) {}

  RunState run_;
};

template <typename Links>
class EventLoopOver final : public EventLoop {
 public:
  explicit EventLoopOver(const SimGraph& graph) : EventLoop(graph, Links::NumSlots(graph)), links_(graph) {
    run_.timeline.transfers.reserve(Links::MostTransfers(graph));
  }

  void Run(std::span<const DeviceIndex> placement, bool keep_transfers) override {
    run_.Reset(placement, keep_transfers);
    links_.Reset();
    for (OpIndex op = 0; op < run_.graph.num_ops; ++op) {
      if (run_.graph.num_inputs[static_cast<size_t>(op)] == 0) run_.QueueOp(op, 0.0);
    }
    size_t ended = 0;
    double last = 0;
    while (!run_.events.Empty()) {
      const EventSlots::Event event = run_.events.Next();
      last = event.time_us;
      if (event.slot < run_.num_devices) {
        FinishOp(event.slot, last);
        ++ended;
      } else {
        links_.OnEvent(run_, event.slot - run_.num_devices, /*delivery=*/event.rank < run_.num_ops, last);
      }
    }
    EMPLACE_CHECK(ended == run_.num_ops);
    last = std::max(last, links_.Finish(run_));
    for (const double free_at : run_.device_free_at) last = std::max(last, free_at);
    run_.timeline.makespan_us = last;
  }

 private:
  void FinishOp(size_t device, double now) {
    const OpIndex op = run_.device_queue.LastPopped(device);
    bool remote = false;
    for (const OpIndex consumer : run_.consumers.Row(op)) {
      RunState::OpState& state = run_.ops[static_cast<size_t>(consumer)];
      const bool local = static_cast<size_t>(state.device) == device;
      remote |= !local;
      state.missing -= static_cast<int32_t>(local);
      // This device, which takes its next op below.
      if (local && state.missing == 0) run_.device_queue.Push(device, consumer);
    }
    if (run_.device_queue.Empty(device)) {
      run_.events.Cancel(device);
    } else {
      run_.StartNextOp(device, now);
    }
    if (remote) links_.Send(run_, op, device, now);
  }

  Links links_;
};

}  // namespace emplace
