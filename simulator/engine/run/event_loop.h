// Processes the events of a run one after the other. The loop itself handles ops; a kind of run (queues/) says which op
// a device starts next, and a link model (links/) handles tensors. Both are template arguments, so that a run costs one
// virtual call and an event none.
//
// A kind of run derives from RunState, whose members it may hide, and has these:
//   QueueLeading              the leading sources of a device will start (run_state.h)
//   QueueOp, PushOp           an op is ready; PushOp where its device will take its next op after this
//   NoneWaits, StartNextOp    whether any op waits for a device; starts the next one
//   EndOp                     the op that ends on a device, which then is the last of its `started`; or a number that
//                             is no op (IsOp) if its leading sources end
//   kByTurns                  the event of a device that runs nothing is its turn: TakeTurn (queues/turn_run.h)
//
// A link model allocates in its constructor only, and has these members:
//   NumSlots, MostTransfers   the number of its event slots, and the largest number of transfers in a run
//   Send                      requests the transfers of an op that has ended to other devices
//   OnEvent                   handles an event that the model has scheduled on one of its slots
//   Finish                    sorts the timeline's transfers after the last event; returns until when links are busy
// A run starts from the last snapshot of the run before that the new placement does not affect. For this a model has:
//   SendsTheSame              whether an op requests the same transfers under another placement
//   VisitState                lists the state that a snapshot copies (run_snapshots.h)
//   History, MakeHistory, SwapHistory, TakeQueued, TakePast
//                             the data that a run writes once and a snapshot therefore does not copy, as in RunState
//   Replay                    makes the inputs ready that a delivery had made ready
//
// A search tries many placements that differ little from one, the base. SetBase keeps the run of the base; each Try
// then starts from the base's snapshots, whatever was tried before, and ends as soon as it is certain (run_bound.h), or
// for the impatient likely (run_forecast.h), to be too long. A try writes into a history of its own, so that the base's
// stays. If it gets to its end, the history is completed with the base's up to that snapshot, and the try can become
// the base.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "common/error.h"
#include "simulator/engine/run/placement_change.h"
#include "simulator/engine/run/run_bound.h"
#include "simulator/engine/run/run_forecast.h"
#include "simulator/engine/run/run_snapshots.h"
#include "simulator/engine/run/run_state.h"
#include "simulator/engine/simulator.h"

namespace emplace {

class EventLoop {
 public:
  virtual ~EventLoop() = default;
  // Replaces the priority (queues/priority_run.h). The next run is simulated whole, and there is no base. REQUIRES: the
  // loop is over a PriorityRun.
  virtual void SetPriority(std::span<const OpIndex> first_to_last) = 0;
  // Simulates a placement. Writes the timeline, except peak_bytes, and each device's ops in the order in which they
  // started, to state().
  virtual void Simulate(std::span<const DeviceIndex> placement, bool keep_transfers) = 0;
  // Simulates a placement as Simulate does, and makes it the base. Simulates nothing if it was the last one tried, and
  // its run has ended.
  virtual void SetBase(std::span<const DeviceIndex> placement) = 0;
  // Simulates a placement that differs from the base's at most in the ops `changed`, each once. Returns false, with the
  // run not ended, once the makespan is certain, or if asked for likely, to be more than limit_us. The base stays.
  // REQUIRES: there is a base.
  virtual bool Try(std::span<const DeviceIndex> placement, std::span<const OpIndex> changed, double limit_us,
                   GiveUp when) = 0;
  virtual RunState& state() = 0;
  // [n] RunForecast's of the base. REQUIRES: there is a base.
  virtual std::span<const double> LatestStartsUs() const = 0;
  // Number of op ends and deliveries that the last run simulated. Leading sources do not count, nor what was taken over
  // from the run before.
  virtual size_t events() const = 0;
};

template <typename Run, typename Links>
class EventLoopOver final : public EventLoop {
 public:
  EventLoopOver(const SimGraph& graph, const DeviceOrders& orders)
      : run_(graph, orders, Links::NumSlots(graph), Links::MostTransfers(graph)),
        links_(graph),
        change_(graph),
        snapshots_(*this, run_.log.size()) {
    changed_.reserve(run_.num_ops);
  }

  void SetPriority(std::span<const OpIndex> first_to_last) override {
    if constexpr (requires { run_.SetPriority(first_to_last); }) {
      EMPLACE_CHECK(first_to_last.size() == run_.num_ops);
      LeaveTry();
      snapshots_.Clear();
      has_base_ = false;
      run_.SetPriority(first_to_last);
    } else {
      CheckFailed(__FILE__, __LINE__, "this is a loop over a PriorityRun", "");
    }
  }
  RunState& state() override { return run_; }
  std::span<const double> LatestStartsUs() const override {
    EMPLACE_CHECK(has_base_);
    return searching_->forecast.latest_start_us();
  }
  size_t events() const override { return run_.log_size - taken_over_; }

  void Simulate(std::span<const DeviceIndex> placement, bool keep_transfers) override {
    EMPLACE_CHECK(placement.size() == run_.num_ops);
    LeaveTry();
    // Snapshots hold no transfers.
    const double same_until = keep_transfers ? 0 : FirstEffectUs(placement, ChangedOps(placement));
    Reset(placement, keep_transfers);
    double last = 0;
    if (snapshots_.FirstTimeUs() < same_until) {
      last = Replay(run_.log, snapshots_.GoBack(*this, same_until));
    } else {
      snapshots_.Clear();
      Start();
    }
    ProcessEvents<Purpose::kRun>(last);
    has_base_ = false;
  }

  void SetBase(std::span<const DeviceIndex> placement) override {
    if (state_ == State::kTried && IsOfLastRun(placement)) {
      KeepTry();
    } else {
      Simulate(placement, /*keep_transfers=*/false);
    }
    if (!searching_) {
      searching_.emplace(*this);
      snapshots_.AllowBranches();
    }
    searching_->bound.SetBase(placement);
    searching_->forecast.SetBase(run_);
    has_base_ = true;
  }

  bool Try(std::span<const DeviceIndex> placement, std::span<const OpIndex> changed, double limit_us,
           GiveUp when) override {
    EMPLACE_CHECK(placement.size() == run_.num_ops && has_base_);
    LeaveTry();
    const double same_until = FirstEffectUs(placement, changed);
    searching_->bound.Begin(placement, changed, limit_us);
    searching_->forecast.Begin(when == GiveUp::kWhenLikely ? limit_us : std::numeric_limits<double>::infinity());
    SwapHistories();
    state_ = State::kGivenUp;
    Reset(placement, /*keep_transfers=*/false);
    double last = 0;
    if (snapshots_.FirstTimeUs() < same_until) {
      const RunSnapshots::Moment moment = snapshots_.Branch(*this, same_until);
      run_.TakeQueued(searching_->run);
      links_.TakeQueued(searching_->links);
      last = Replay(searching_->run.log, moment);
    } else {
      snapshots_.BranchAtStart();
      Start();
    }
    if (!ProcessEvents<Purpose::kTry>(last)) return false;
    if (taken_over_ > 0) {
      run_.TakePast(searching_->run, taken_over_);
      links_.TakePast(searching_->links);
    }
    state_ = State::kTried;
    return true;
  }

  template <typename Visit>
  void VisitState(Visit&& visit) {
    run_.VisitState(visit);
    links_.VisitState(visit);
    visit(std::span(&ended_, 1));
  }

 private:
  enum class Purpose : uint8_t {
    kRun,  // To the end.
    kTry,  // Until it is given up.
  };
  // What run_ and links_ hold.
  enum class State : uint8_t {
    kRun,      // The last run, which is that of the base if there is one.
    kGivenUp,  // A try that has not ended.
    kTried,    // A try that has ended.
  };
  // What a search needs.
  struct Search {
    explicit Search(const EventLoopOver& loop)
        : bound(loop.run_.graph),
          forecast(loop.run_.graph),
          run(loop.run_.MakeHistory()),
          links(loop.links_.MakeHistory()) {}

    RunBound bound;
    RunForecast forecast;
    RunState::History run;  // These two are the base's while a try holds run_ and links_, and else scratch.
    typename Links::History links;
  };

  void Reset(std::span<const DeviceIndex> placement, bool keep_transfers) {
    run_.Reset(placement, keep_transfers);
    links_.Reset();
  }

  void SwapHistories() {
    run_.SwapHistory(searching_->run);
    links_.SwapHistory(searching_->links);
  }
  // Returns to the base's run.
  void LeaveTry() {
    if (state_ == State::kRun) return;
    SwapHistories();
    snapshots_.LeaveBranch();
    state_ = State::kRun;
  }
  // Makes the try the base's run.
  void KeepTry() {
    snapshots_.KeepBranch();
    state_ = State::kRun;
    taken_over_ = run_.log_size;
  }
  bool IsOfLastRun(std::span<const DeviceIndex> placement) const {
    return std::ranges::equal(placement, run_.ops, {}, {}, &RunState::OpState::device);
  }

  // Processes all events after `last`, the time of the last one. Returns false if the run was given up.
  template <Purpose kPurpose>
  bool ProcessEvents(double last) {
    while (!run_.events.Empty()) {
      const EventSlots::Event event = run_.events.Next();
      last = event.time_us;
      if (event.slot < run_.num_devices) {
        if constexpr (Run::kByTurns) {
          if (!run_.Runs(event.slot)) {
            run_.TakeTurn(event.slot, last);
            continue;
          }
        }
        const OpIndex op = FinishOp(event.slot, last);
        if constexpr (kPurpose == Purpose::kTry) {
          if (!run_.IsOp(op)) continue;
          if (searching_->bound.IsExceeded(op, event.slot, last, run_.idle_us[event.slot])) return false;
          if (searching_->forecast.IsExceeded(op, last)) return false;
        }
      } else {
        links_.OnEvent(run_, event.slot - run_.num_devices, /*delivery=*/event.rank < run_.num_ops, last);
      }
      // At time 0 some of the leading sources, which are not logged, may not have ended.
      if (snapshots_.IsDue(run_.log_size) && last > 0) snapshots_.Take(*this, {last, run_.log_size});
    }
    last = std::max(last, links_.Finish(run_));
    for (const double free_at : run_.device_free_at) last = std::max(last, free_at);
    run_.timeline.makespan_us = last;
    EMPLACE_CHECK(ended_ == run_.num_ops);
    return true;
  }

  // The ops that are on another device than in the last run. Valid until the next call.
  std::span<const OpIndex> ChangedOps(std::span<const DeviceIndex> placement) {
    changed_.clear();
    for (size_t o = 0; o < placement.size(); ++o) {
      if (placement[o] != run_.ops[o].device) changed_.push_back(static_cast<OpIndex>(o));
    }
    return changed_;
  }
  double FirstEffectUs(std::span<const DeviceIndex> placement, std::span<const OpIndex> changed) {
    return change_.FirstEffectUs(run_, placement, changed, snapshots_.FirstTimeUs(),
                                 [&](OpIndex op, auto new_device_of) {
                                   return links_.SendsTheSame(run_, op, run_.DeviceOf(op), new_device_of);
                                 });
  }

  void Start() {
    ended_ = 0;
    taken_over_ = 0;
    for (const OpIndex op : run_.leading) {
      const size_t device = run_.DeviceOf(op);
      if (run_.events.Idle(device)) run_.QueueLeading(device);
    }
    for (const OpIndex op : run_.first_queued) run_.QueueOp(op, 0.0);
  }
  // Counts ready inputs under the new placement, up to a snapshot that was restored, of the run with this log. Returns
  // the snapshot's time.
  double Replay(std::span<const int32_t> log, const RunSnapshots::Moment& moment) {
    for (const OpIndex op : run_.leading) ReplayOpEnd(op);
    for (const int32_t entry : log.first(moment.events)) {
      if (entry < 0) {
        links_.Replay(run_, ~entry);
        continue;
      }
      ReplayOpEnd(entry);
    }
    taken_over_ = moment.events;
    return moment.time_us;
  }

  void ReplayOpEnd(OpIndex op) {
    const size_t device = run_.DeviceOf(op);
    for (const OpIndex consumer : run_.consumers.Row(op)) run_.TakeInput(consumer, run_.DeviceOf(consumer) == device);
  }

  // Returns the op that has ended, or a number that is no op (IsOp) if the device's leading sources have. Inlined, also
  // into two callers: a call for each event costs a tenth of a run.
  [[gnu::always_inline]] OpIndex FinishOp(size_t device, double now) {
    const OpIndex op = run_.EndOp(device);
    if (!run_.IsOp(op)) [[unlikely]] {
      EndLeading(device);
      return op;
    }
    run_.LogOpEnd(op, now);
    const bool remote = TellLocalConsumers(op, device);
    TakeNextOp(device, now);
    if (remote) links_.Send(run_, op, device, now);
    return op;
  }
  void EndLeading(size_t device) {
    run_.ForEachLeading(device, [&](OpIndex op) {
      if (TellLocalConsumers(op, device)) links_.Send(run_, op, device, 0.0);
    });
    TakeNextOp(device, 0.0);
  }
  // The op has ended. Returns whether it has consumers on other devices.
  [[gnu::always_inline]] bool TellLocalConsumers(OpIndex op, size_t device) {
    ++ended_;
    bool remote = false;
    for (const OpIndex consumer : run_.consumers.Row(op)) {
      const bool local = run_.DeviceOf(consumer) == device;
      remote |= !local;
      // The consumer is queued only: this device takes its next op after that.
      if (run_.TakeInput(consumer, local)) run_.PushOp(consumer, device);
    }
    return remote;
  }
  [[gnu::always_inline]] void TakeNextOp(size_t device, double now) {
    if (run_.NoneWaits(device)) {
      run_.events.Cancel(device);
    } else {
      run_.StartNextOp(device, now);
    }
  }

  Run run_;
  Links links_;
  size_t taken_over_ = 0;  // Of the events of the last run, those taken over from the run before.
  size_t ended_ = 0;       // Ops that have ended.
  PlacementChange change_;
  std::vector<OpIndex> changed_;  // Scratch of ChangedOps.
  RunSnapshots snapshots_;
  std::optional<Search> searching_;  // Made by the first SetBase.
  bool has_base_ = false;
  State state_ = State::kRun;
};

}  // namespace emplace
