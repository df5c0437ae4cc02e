#include "simulator/methods/dispatch.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>

#include "common/error.h"

namespace emplace {
namespace {

class Dispatcher {
 public:
  Dispatcher(const ScheduleGraph& graph, std::span<const DeviceIndex> placement, const DispatchRule& rule,
             double limit_us)
      : graph_(graph),
        sim_(graph.task().sim),
        microbatch_(graph.task().microbatch_of_op),
        placement_(placement),
        rule_(rule),
        limit_us_(limit_us),
        turn_(static_cast<size_t>(sim_.num_ops)),
        op_at_(turn_.size()),
        missing_(sim_.num_inputs),
        ready_(static_cast<size_t>(sim_.num_devices)),
        begun_(ready_.size()),
        device_free_us_(ready_.size()),
        link_free_us_(ready_.size()),
        orders_(ready_.size()) {
    std::iota(op_at_.begin(), op_at_.end(), 0);
    std::sort(op_at_.begin(), op_at_.end(), [&](OpIndex a, OpIndex b) {
      const auto key = [&](OpIndex op) {
        const auto o = static_cast<size_t>(op);
        return std::tuple(rule.wave[o], -rule.rank_us[o], op);
      };
      return key(a) < key(b);
    });
    for (size_t i = 0; i < op_at_.size(); ++i) turn_[static_cast<size_t>(op_at_[i])] = static_cast<int32_t>(i);
    if (rule.most_begun.empty()) return;
    for (size_t o = 0; o < microbatch_.size(); ++o) {
      if (microbatch_[o] < 0) continue;
      std::vector<int32_t>& left = begun_[DeviceOf(static_cast<OpIndex>(o))].ops_left;
      left.resize(std::max(left.size(), static_cast<size_t>(microbatch_[o]) + 1));
      ++left[static_cast<size_t>(microbatch_[o])];
    }
    for (Begun& begun : begun_) begun.SkipAbsent();
  }

  Dispatched Run() {
    for (OpIndex op = 0; op < sim_.num_ops; ++op) {
      if (missing_[static_cast<size_t>(op)] == 0) MakeReady(op);
    }
    double now = 0;
    StartOnFreeDevices(now);
    while (started_ < sim_.num_ops) {
      if (events_.empty()) {
        StartAnyway(now);
        continue;
      }
      now = events_.top().time_us;
      while (!events_.empty() && events_.top().time_us == now) {
        const Event event = events_.top();
        events_.pop();
        Handle(event);
      }
      StartOnFreeDevices(now);
      if (given_up_) return {{}, std::numeric_limits<double>::infinity()};
    }
    for (; !events_.empty(); events_.pop()) now = events_.top().time_us;
    return {std::move(orders_), now};
  }

 private:
  enum class Kind { kOpEnds, kTensorArrives, kDeviceFree };
  static constexpr DeviceIndex kEverywhere = -1;

  struct Event {
    double time_us;
    Kind kind;
    int32_t subject;  // An op, a tensor, or a device.
    DeviceIndex to;   // Where a tensor arrives; kEverywhere: at all devices that read it, but its maker's.
    auto operator<=>(const Event&) const = default;
  };
  // The micro-batches of one device.
  struct Begun {
    std::vector<int32_t> ops_left;  // By micro-batch: ops on the device that have not ended.
    size_t next = 0;                // The first micro-batch that has not begun.
    int32_t count = 0;              // Micro-batches that have begun and not ended.

    void SkipAbsent() {
      while (next < ops_left.size() && ops_left[next] == 0) ++next;
    }
  };

  size_t DeviceOf(OpIndex op) const { return static_cast<size_t>(placement_[static_cast<size_t>(op)]); }
  int32_t MicrobatchOf(OpIndex op) const {
    return rule_.most_begun.empty() ? -1 : microbatch_[static_cast<size_t>(op)];
  }

  void MakeReady(OpIndex op) { ready_[DeviceOf(op)].push(turn_[static_cast<size_t>(op)]); }
  // REQUIRES: an op is ready there.
  OpIndex First(size_t device) const { return op_at_[static_cast<size_t>(ready_[device].top())]; }
  void TakeInput(OpIndex op) {
    if (--missing_[static_cast<size_t>(op)] == 0) MakeReady(op);
  }

  // An op of a micro-batch that has begun may start. Where one may not, none after it may: it begins no earlier
  // micro-batch.
  bool MayStart(size_t device, OpIndex op) const {
    const int32_t microbatch = MicrobatchOf(op);
    const Begun& begun = begun_[device];
    if (microbatch < 0 || static_cast<size_t>(microbatch) < begun.next) return true;
    return static_cast<size_t>(microbatch) == begun.next && begun.count < rule_.most_begun[device];
  }

  void StartOnFreeDevices(double now) {
    for (size_t device = 0; device < ready_.size(); ++device) {
      const bool starts = device_free_us_[device] <= now && !ready_[device].empty() && MayStart(device, First(device));
      if (starts) StartFirst(device, now);
    }
  }
  void StartAnyway(double now) {
    const auto waiting = std::find_if(ready_.begin(), ready_.end(), [](const auto& ready) { return !ready.empty(); });
    EMPLACE_CHECK(waiting != ready_.end());
    StartFirst(static_cast<size_t>(waiting - ready_.begin()), now);
  }

  void StartFirst(size_t device, double now) {
    const OpIndex op = First(device);
    ready_[device].pop();
    given_up_ |= now + rule_.rank_us[static_cast<size_t>(op)] > limit_us_;
    orders_[device].push_back(op);
    ++started_;
    const int32_t microbatch = MicrobatchOf(op);
    Begun& begun = begun_[device];
    if (microbatch >= 0 && static_cast<size_t>(microbatch) >= begun.next) {
      begun.next = static_cast<size_t>(microbatch) + 1;
      begun.SkipAbsent();
      ++begun.count;
    }
    const double busy_us = graph_.CostUs(op, placement_[static_cast<size_t>(op)]);
    device_free_us_[device] = now + busy_us;
    events_.push({now + (busy_us > 0 ? busy_us - sim_.op_overhead_us : 0), Kind::kOpEnds, op, kEverywhere});
    events_.push({now + busy_us, Kind::kDeviceFree, static_cast<int32_t>(device), kEverywhere});
  }

  void Handle(const Event& event) {
    switch (event.kind) {
      case Kind::kOpEnds:
        EndOp(event.subject, event.time_us);
        break;
      case Kind::kTensorArrives:
        Arrive(event.subject, event.to);
        break;
      case Kind::kDeviceFree:
        break;  // The device starts its next op after all events of this time.
    }
  }

  void EndOp(OpIndex op, double now) {
    const size_t device = DeviceOf(op);
    const int32_t microbatch = MicrobatchOf(op);
    Begun& begun = begun_[device];
    if (microbatch >= 0 && --begun.ops_left[static_cast<size_t>(microbatch)] == 0) --begun.count;
    const auto o = static_cast<size_t>(op);
    for (int32_t tensor = sim_.tensor_begin[o]; tensor < sim_.tensor_begin[o + 1]; ++tensor) {
      elsewhere_.clear();
      for (const OpIndex reader : sim_.tensor_consumers.Row(tensor)) {
        if (DeviceOf(reader) == device) {
          TakeInput(reader);
        } else {
          elsewhere_.push_back(placement_[static_cast<size_t>(reader)]);
        }
      }
      std::sort(elsewhere_.begin(), elsewhere_.end());
      elsewhere_.erase(std::unique(elsewhere_.begin(), elsewhere_.end()), elsewhere_.end());
      for (const DeviceIndex to : elsewhere_) {
        const double arrival =
            std::max(link_free_us_[device], now) + graph_.TransferUs(tensor, static_cast<DeviceIndex>(device), to);
        link_free_us_[device] = arrival + sim_.transfer_overhead_us;
        const bool once = sim_.link_model == LinkModel::kShared;
        events_.push({arrival, Kind::kTensorArrives, tensor, once ? kEverywhere : to});
        if (once) break;
      }
    }
  }

  void Arrive(int32_t tensor, DeviceIndex to) {
    const size_t from = DeviceOf(graph_.ProducerOf(tensor));
    for (const OpIndex reader : sim_.tensor_consumers.Row(tensor)) {
      const DeviceIndex on = placement_[static_cast<size_t>(reader)];
      if (to == kEverywhere ? static_cast<size_t>(on) != from : on == to) TakeInput(reader);
    }
  }

  const ScheduleGraph& graph_;
  const SimGraph& sim_;
  const std::vector<int32_t>& microbatch_;
  std::span<const DeviceIndex> placement_;
  const DispatchRule& rule_;
  const double limit_us_;
  bool given_up_ = false;
  std::vector<int32_t> turn_;     // [n] place of each op in the order of the rule
  std::vector<OpIndex> op_at_;    // [n] the op at each place
  std::vector<int32_t> missing_;  // [n] inputs that are not there
  // [D] places of the ops that are ready, the first of them on top.
  std::vector<std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>>> ready_;
  std::vector<Begun> begun_;            // [D]
  std::vector<double> device_free_us_;  // [D]
  std::vector<double> link_free_us_;    // [D] of the sending link
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  int32_t started_ = 0;
  DeviceOrders orders_;
  std::vector<DeviceIndex> elsewhere_;  // Scratch: the other devices that read a tensor.
};

}  // namespace

Dispatched Dispatch(const ScheduleGraph& graph, std::span<const DeviceIndex> placement, const DispatchRule& rule,
                    double limit_us) {
  return Dispatcher(graph, placement, rule, limit_us).Run();
}

}  // namespace emplace
