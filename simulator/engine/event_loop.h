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
//   VisitHistory              lists the data that a run writes once and a snapshot therefore does not copy
//   Replay                    makes the inputs ready that a delivery had made ready
//
// A search tries many placements that differ little from one, the base. Hold keeps the run of the base; each Try then
// starts from the base's snapshots, whatever was tried before, and ends as soon as it is certain (run_bound.h), or for
// the impatient likely (run_forecast.h), to be too long.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "common/error.h"
#include "simulator/engine/placement_change.h"
#include "simulator/engine/run_bound.h"
#include "simulator/engine/run_copy.h"
#include "simulator/engine/run_forecast.h"
#include "simulator/engine/run_snapshots.h"
#include "simulator/engine/run_state.h"
#include "simulator/engine/simulator.h"

namespace emplace {

class EventLoop {
 public:
  virtual ~EventLoop() = default;
  // Simulates a placement. Writes the timeline, except peak_bytes, and each device's ops in the order in which they
  // started, to state().
  virtual void Run(std::span<const DeviceIndex> placement, bool keep_transfers) = 0;
  // Simulates a placement as Run does, and makes it the base.
  virtual void Hold(std::span<const DeviceIndex> placement) = 0;
  // Simulates a placement from the base on. Returns false, with the run not ended, once the makespan is certain, or if
  // asked for likely, to be more than limit_us. The base stays. REQUIRES: there is a base.
  virtual bool Try(std::span<const DeviceIndex> placement, double limit_us, GiveUp when) = 0;
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
    ReturnToBase();
    // Snapshots hold no transfers.
    const double same_until = keep_transfers ? 0 : FirstEffectUs(placement);
    Reset(placement, keep_transfers);
    double last = 0;
    if (snapshots_.FirstTimeUs() < same_until) {
      last = Replay(snapshots_.GoBack(*this, same_until));
    } else {
      snapshots_.Clear();
      Start();
    }
    ProcessEvents<Purpose::kRun>(last);
    base_.Clear();
  }

  void Hold(std::span<const DeviceIndex> placement) override {
    Run(placement, /*keep_transfers=*/false);
    if (!bound_) {
      bound_.emplace(run_.graph);
      forecast_.emplace(run_.graph);
    }
    bound_->SetBase(placement);
    forecast_->SetBase(run_);
    base_.Save(*this, run_);
  }

  bool Try(std::span<const DeviceIndex> placement, double limit_us, GiveUp when) override {
    EMPLACE_CHECK(placement.size() == run_.num_ops && !base_.empty());
    ReturnToBase();
    const double same_until = FirstEffectUs(placement);
    bound_->Begin(placement, limit_us);
    forecast_->Begin(when == GiveUp::kWhenLikely ? limit_us : std::numeric_limits<double>::infinity());
    Reset(placement, /*keep_transfers=*/false);
    tried_ = true;
    double last = 0;
    if (snapshots_.FirstTimeUs() < same_until) {
      last = Replay(snapshots_.Revisit(*this, same_until));
    } else {
      Start();
    }
    return ProcessEvents<Purpose::kTry>(last);
  }

  template <typename Visit>
  void VisitState(Visit&& visit) {
    run_.VisitState(visit);
    links_.VisitState(visit);
    visit(std::span(&ended_, 1));
  }
  template <typename Visit>
  void VisitHistory(Visit&& visit) {
    run_.VisitHistory(visit);
    links_.VisitHistory(visit);
  }

 private:
  enum class Purpose : uint8_t {
    kRun,  // To the end, with snapshots.
    kTry,  // Until it is given up; the base's snapshots stay.
  };

  void Reset(std::span<const DeviceIndex> placement, bool keep_transfers) {
    run_.Reset(placement, keep_transfers);
    links_.Reset();
  }

  // What was tried has written over the base's run.
  void ReturnToBase() {
    if (!tried_) return;
    base_.Restore(*this, run_);
    tried_ = false;
  }

  // Processes all events after `last`, the time of the last one. Returns false if the run was given up.
  template <Purpose kPurpose>
  bool ProcessEvents(double last) {
    while (!run_.events.Empty()) {
      const EventSlots::Event event = run_.events.Next();
      last = event.time_us;
      if (event.slot < run_.num_devices) {
        const OpIndex op = FinishOp(event.slot, last);
        if constexpr (kPurpose == Purpose::kTry) {
          if (bound_->IsExceeded(op, event.slot, last, run_.idle_us[event.slot])) return false;
          if (forecast_->IsExceeded(op, last)) return false;
        }
      } else {
        links_.OnEvent(run_, event.slot - run_.num_devices, /*delivery=*/event.rank < run_.num_ops, last);
      }
      if constexpr (kPurpose == Purpose::kRun) {
        if (snapshots_.IsDue(run_.log_size)) snapshots_.Take(*this, {last, run_.log_size});
      }
    }
    last = std::max(last, links_.Finish(run_));
    for (const double free_at : run_.device_free_at) last = std::max(last, free_at);
    run_.timeline.makespan_us = last;
    EMPLACE_CHECK(ended_ == run_.num_ops);
    return true;
  }

  double FirstEffectUs(std::span<const DeviceIndex> placement) {
    return change_.FirstEffectUs(run_, placement, snapshots_.FirstTimeUs(), [&](OpIndex op) {
      return links_.SendsTheSame(run_, op, run_.DeviceOf(op), [&](OpIndex reader) {
        return static_cast<size_t>(placement[static_cast<size_t>(reader)]);
      });
    });
  }

  void Start() {
    ended_ = 0;
    taken_over_ = 0;
    for (OpIndex op = 0; op < run_.graph.num_ops; ++op) {
      if (run_.num_inputs[static_cast<size_t>(op)] == 0) run_.QueueOp(op, 0.0);
    }
  }
  // Counts ready inputs under the new placement, up to a snapshot that was restored. Returns the snapshot's time.
  double Replay(const RunSnapshots::Moment& moment) {
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

  // Returns the op that has ended. Inlined, also into two callers: a call for each event costs a tenth of a run.
  [[gnu::always_inline]] OpIndex FinishOp(size_t device, double now) {
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
    return op;
  }

  Links links_;
  size_t ended_ = 0;  // Ops that have ended.
  PlacementChange change_;
  RunSnapshots snapshots_;
  std::optional<RunBound> bound_;  // These two are made by the first Hold.
  std::optional<RunForecast> forecast_;
  RunCopy base_;
  bool tried_ = false;  // Whether the arrays hold what was tried last, not the base.
};

}  // namespace emplace
