// The events of a run, one after the other: ops and devices here, tensors in a link model (links/). The model is a template
// argument, so that a run costs one virtual call and an event none.
//
// A model has so many slots for events to come (NumSlots) and starts at most so many transfers (MostTransfers). It is asked to
// Send what an op that ended has for other devices; what it schedules on its slots comes back, at that time, as Deliver where
// it was a delivery and as Turn where it was a turn. It allocates in its constructor only.
#pragma once

#include <span>
#include <vector>

#include "common/error.h"
#include "simulator/run_state.h"

namespace emplace {

class EventLoop {
 public:
  virtual ~EventLoop() = default;
  // Leaves start_order and all of the timeline but peak_bytes in state().
  virtual void Run(std::span<const DeviceIndex> placement, bool keep_transfers) = 0;
  RunState& state() { return run_; }

 protected:
  EventLoop(const SimGraph& graph, size_t link_slots) : run_(graph, link_slots) {}

  RunState run_;
};

template <typename Links>
class EventLoopOver final : public EventLoop {
 public:
  explicit EventLoopOver(const SimGraph& graph)
      : EventLoop(graph, Links::NumSlots(graph)),
        links_(graph),
        running_(run_.num_devices),
        device_free_at_(run_.num_devices) {
    run_.timeline.transfers.reserve(Links::MostTransfers(graph));
  }

  void Run(std::span<const DeviceIndex> placement, bool keep_transfers) override {
    run_.Reset(placement, keep_transfers);
    links_.Reset();
    for (OpIndex op = 0; op < run_.graph.num_ops; ++op) {
      if (run_.missing[static_cast<size_t>(op)] == 0) run_.QueueOp(op, 0.0);
    }
    double last = 0;
    for (EventSlots::Event event = run_.events.Next(); event.time_us != EventSlots::kNever; event = run_.events.Next()) {
      last = event.time_us;
      const bool input_ready = event.rank < run_.num_ops;
      if (event.slot < run_.num_devices) {
        if (input_ready) {
          FinishOp(event.slot, last);
        } else {
          ServeDevice(event.slot, last);
        }
      } else if (input_ready) {
        links_.Deliver(run_, event.slot - run_.num_devices, last);
      } else {
        links_.Turn(run_, event.slot - run_.num_devices, last);
      }
    }
    EMPLACE_CHECK(run_.start_order.size() == run_.num_ops);
    run_.timeline.makespan_us = last;
  }

 private:
  void FinishOp(size_t device, double now) {
    const OpIndex op = running_[device];
    bool remote = false;
    const auto first = static_cast<size_t>(run_.consumers.begin[static_cast<size_t>(op)]);
    const auto last = static_cast<size_t>(run_.consumers.begin[static_cast<size_t>(op) + 1]);
    for (size_t i = first; i < last; ++i) {
      const OpIndex consumer = run_.consumers.items[i];
      const bool local = run_.DeviceOf(consumer) == device;
      remote |= !local;
      run_.InputsReady(consumer, local ? run_.tensors_read[i] : 0, now);
    }
    if (remote) links_.Send(run_, op, device, now);
    run_.ScheduleDeviceTurn(device, device_free_at_[device]);
  }

  void ServeDevice(size_t device, double now) {
    if (run_.device_queue.Empty(device)) {
      run_.events.Cancel(device);
      return;
    }
    const OpIndex op = run_.device_queue.Pop(device);
    const double cost = run_.graph.cost_us[static_cast<size_t>(op) * run_.num_devices + device];
    const double finish = now + cost;
    run_.timeline.start_us[static_cast<size_t>(op)] = now;
    run_.timeline.finish_us[static_cast<size_t>(op)] = finish;
    run_.start_order.push_back(op);
    running_[device] = op;
    device_free_at_[device] = cost == 0 ? finish : finish + run_.graph.op_overhead_us;
    run_.ScheduleOpEnd(device, finish, op);
  }

  Links links_;
  std::vector<OpIndex> running_;        // [D]
  std::vector<double> device_free_at_;  // [D] us; when a running device has its next turn
};

}  // namespace emplace
