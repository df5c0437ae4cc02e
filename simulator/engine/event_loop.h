// Processes the events of a run one after the other. The loop itself handles ops and devices; a link model (links/)
// handles tensors. The model is a template argument, so that a run costs one virtual call and an event none.
//
// A link model allocates in its constructor only, and has these members:
//   NumSlots, MostTransfers   the number of its event slots, and the largest number of transfers in a run
//   Send                      requests the transfers of an op that has ended to other devices
//   OnEvent                   handles an event that the model has scheduled on one of its slots
//   Finish                    sorts the timeline's transfers after the last event; returns until when links are busy
// A run starts from the last snapshot of the run before that the new placement does not affect. For this a model has:
//   SendsTheSame              whether an op requests the same transfers under another placement
//   VisitState                lists the state that a snapshot copies (run_snapshots.h)
//   Replay                    makes the inputs ready that a delivery had made ready
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "common/error.h"
#include "simulator/engine/placement_change.h"
#include "simulator/engine/run_snapshots.h"
#include "simulator/engine/run_state.h"

namespace emplace {

class EventLoop {
 public:
  virtual ~EventLoop() = default;
  // Simulates a placement. Writes the timeline, except peak_bytes, and each device's ops in the order in which they
  // started, to state().
  virtual void Run(std::span<const DeviceIndex> placement, bool keep_transfers) = 0;
  RunState& state() { return run_; }
  // Number of op ends and deliveries that the last run simulated; those taken over from the run before do not count.
  size_t events() const { return run_.log_size - taken_over_; }

 protected:
  EventLoop(const SimGraph& graph, const DeviceOrders& orders, size_t link_slots, size_t most_transfers)
      : run_(graph, orders, link_slots, most_transfers) {}

  RunState run_;
  size_t taken_over_ = 0;
};

template <typename Links>
class EventLoopOver final : public EventLoop {
 public:
  EventLoopOver(const SimGraph& graph, const DeviceOrders& orders)
      : EventLoop(graph, orders, Links::NumSlots(graph), Links::MostTransfers(graph)),
        links_(graph),
        change_(graph),
        snapshots_(*this, run_.log.size()) {}

  void Run(std::span<const DeviceIndex> placement, bool keep_transfers) override {
    EMPLACE_CHECK(placement.size() == run_.num_ops);
    // Snapshots hold no transfers.
    const double same_until = keep_transfers ? 0 : FirstEffectUs(placement);
    run_.Reset(placement, keep_transfers);
    links_.Reset();
    double last = snapshots_.FirstTimeUs() < same_until ? Resume(same_until) : Start();
    while (!run_.events.Empty()) {
      const EventSlots::Event event = run_.events.Next();
      last = event.time_us;
      if (event.slot < run_.num_devices) {
        FinishOp(event.slot, last);
      } else {
        links_.OnEvent(run_, event.slot - run_.num_devices, /*delivery=*/event.rank < run_.num_ops, last);
      }
      if (snapshots_.IsDue(run_.log_size)) snapshots_.Take(*this, {last, run_.log_size});
    }
    last = std::max(last, links_.Finish(run_));
    for (const double free_at : run_.device_free_at) last = std::max(last, free_at);
    run_.timeline.makespan_us = last;
    EMPLACE_CHECK(ended_ == run_.num_ops);
  }

  template <typename Visit>
  void VisitState(Visit&& visit) {
    run_.VisitState(visit);
    links_.VisitState(visit);
    visit(std::span(&ended_, 1));
  }

 private:
  double FirstEffectUs(std::span<const DeviceIndex> placement) {
    return change_.FirstEffectUs(run_, placement, snapshots_.FirstTimeUs(), [&](OpIndex op) {
      return links_.SendsTheSame(run_, op, run_.DeviceOf(op), [&](OpIndex reader) {
        return static_cast<size_t>(placement[static_cast<size_t>(reader)]);
      });
    });
  }

  // Both return the time up to which all events have been processed.
  double Start() {
    snapshots_.Clear();
    ended_ = 0;
    taken_over_ = 0;
    for (OpIndex op = 0; op < run_.graph.num_ops; ++op) {
      if (run_.num_inputs[static_cast<size_t>(op)] == 0) run_.QueueOp(op, 0.0);
    }
    return 0;
  }
  double Resume(double before_us) {
    const RunSnapshots::Moment moment = snapshots_.GoBack(*this, before_us);
    for (size_t i = 0; i < moment.events; ++i) {
      const int32_t entry = run_.log[i];
      if (entry < 0) {
        links_.Replay(run_, ~entry);
        continue;
      }
      const size_t device = run_.DeviceOf(entry);
      for (const OpIndex consumer : run_.consumers.Row(entry))
        run_.TakeInput(consumer, run_.DeviceOf(consumer) == device);
    }
    taken_over_ = moment.events;
    return moment.time_us;
  }

  void FinishOp(size_t device, double now) {
    const OpIndex op = run_.device_queue.LastPopped(device);
    run_.LogOpEnd(op);
    ++ended_;
    bool remote = false;
    for (const OpIndex consumer : run_.consumers.Row(op)) {
      const bool local = run_.DeviceOf(consumer) == device;
      remote |= !local;
      // The consumer is queued only: this device takes its next op below.
      if (run_.TakeInput(consumer, local)) run_.PushOp(consumer, device);
    }
    if (run_.device_queue.Empty(device)) {
      run_.events.Cancel(device);
    } else {
      run_.StartNextOp(device, now);
    }
    if (remote) links_.Send(run_, op, device, now);
  }

  Links links_;
  size_t ended_ = 0;  // Ops that have ended.
  PlacementChange change_;
  RunSnapshots snapshots_;
};

}  // namespace emplace
