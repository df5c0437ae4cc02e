// The link models with one sending link for each device and a latency: a transfer arrives some time after the link has
// sent it, and meanwhile the link may send others. Transfers of one link arrive in the order in which they are sent.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "simulator/engine/links/sender_state.h"

namespace emplace {

// First come, first served: so when a transfer is requested, it is known when it will arrive. A link's event is the
// next arrival. Transfers that arrive at one time, as control signals may, go by producer, like all inputs that get
// ready at that time, and the event is that of the lowest producer among them; they leave the queue together.
template <typename Transfers>
class DelayedLinks : public SenderState<Transfers> {
  using Base = SenderState<Transfers>;

 public:
  explicit DelayedLinks(const SimGraph& graph)
      : Base(graph),
        arrival_us_(Transfers::Numbers(graph)),
        delivered_(Base::NumSlots(graph)),
        lowest_(Base::NumSlots(graph)) {
    arriving_.reserve(arrival_us_.size());
    readers_.reserve(graph.tensor_consumers.items.size());
  }

  void Reset() {
    Base::Reset();
    std::fill(delivered_.begin(), delivered_.end(), 0);
    arriving_at_ = kNoLink;
  }

  void Send(RunState& run, OpIndex op, size_t device, double now) {
    transfers_.ForEachOf(
        run.graph, [&](OpIndex reader) { return run.DeviceOf(reader); }, op, device,
        [&](int32_t transfer) {
          double arrival = this->Occupy(run, device, transfer, now) + run.graph.transfer_latency_us;
          // A latency that is lost in rounding: it still arrives later than what arrives now.
          if (arrival <= now) [[unlikely]]
            arrival = std::nextafter(now, std::numeric_limits<double>::infinity());
          arrival_us_[static_cast<size_t>(transfer)] = arrival;
          const bool is_next = queue_.Empty(device);
          queue_.Push(device, transfer);
          if (is_next || (arrival == ArrivalOf(queue_.Front(device)) && transfer < lowest_[device])) {
            ScheduleArrival(run, device, transfer);
          }
        });
  }

  template <typename Run>
  [[gnu::always_inline]] void OnEvent(Run& run, size_t device, bool /*delivery*/, double now) {
    const int32_t front = queue_.Front(device);
    if (!queue_.HasSecond(device) || ArrivalOf(queue_.Second(device)) != now) [[likely]] {
      this->Deliver(run, front, device, now);
      queue_.Pop(device);
      ScheduleNext(run, device);
      return;
    }
    DeliverLowest(run, device, now);
  }

  struct History {
    LinkedQueues::Links links;
    std::vector<double> arrival_us;
  };
  History MakeHistory() const { return {queue_.MakeLinks(), std::vector<double>(arrival_us_.size())}; }
  void SwapHistory(History& other) {
    queue_.SwapLinks(other.links);
    arrival_us_.swap(other.arrival_us);
  }
  void TakeQueued(const History& other) {
    queue_.TakeQueued(other.links, [&](int32_t transfer) { TakeArrival(other, transfer); });
  }
  void TakePast(const History& other) {
    queue_.TakePopped(other.links, [&](int32_t transfer) { TakeArrival(other, transfer); });
  }
  template <typename Visit>
  void VisitState(Visit&& visit) {
    Base::VisitState(visit);
    visit(std::span(delivered_));
    visit(std::span(lowest_));
  }

 private:
  using Base::queue_;
  using Base::transfers_;
  static constexpr size_t kNoLink = std::numeric_limits<size_t>::max();

  double ArrivalOf(int32_t transfer) const { return arrival_us_[static_cast<size_t>(transfer)]; }
  void TakeArrival(const History& other, int32_t transfer) {
    arrival_us_[static_cast<size_t>(transfer)] = other.arrival_us[static_cast<size_t>(transfer)];
  }

  void ScheduleArrival(RunState& run, size_t device, int32_t transfer) {
    lowest_[device] = transfer;
    run.ScheduleDelivery(device, ArrivalOf(transfer), transfers_.TensorOf(transfer));
  }
  // Schedules the arrival of the lowest of the transfers that arrive next.
  void ScheduleNext(RunState& run, size_t device) {
    if (queue_.Empty(device)) {
      run.CancelLink(device);
      return;
    }
    int32_t lowest = queue_.Front(device);
    const double arrival = ArrivalOf(lowest);
    queue_.ForEachQueuedWhile(device, [&](int32_t transfer) {
      if (ArrivalOf(transfer) != arrival) return false;
      lowest = std::min(lowest, transfer);
      return true;
    });
    ScheduleArrival(run, device, lowest);
  }

  // The transfers of the link that arrive now, ascending. Those of lower producers have lower numbers.
  std::span<const int32_t> Arriving(size_t device, double now) {
    if (arriving_at_ == device && arriving_us_ == now) return arriving_;
    arriving_at_ = device;
    arriving_us_ = now;
    arriving_.clear();
    queue_.ForEachQueuedWhile(device, [&](int32_t transfer) {
      if (ArrivalOf(transfer) != now) return false;
      arriving_.push_back(transfer);
      return true;
    });
    std::sort(arriving_.begin(), arriving_.end());
    return arriving_;
  }

  // Several transfers arrive at one time: delivers those of the lowest producer that are left, whose readers get ready
  // in the order of their numbers.
  template <typename Run>
  void DeliverLowest(Run& run, size_t device, double now) {
    const std::span<const int32_t> arriving = Arriving(device, now);
    auto next = static_cast<size_t>(delivered_[device]);
    const OpIndex producer = this->ProducerOf(run, arriving[next]);
    readers_.clear();
    for (; next < arriving.size() && this->ProducerOf(run, arriving[next]) == producer; ++next) {
      run.LogDelivery(arriving[next], now);
      transfers_.ForEachReader(run, arriving[next], device, [&](OpIndex reader, bool served) {
        readers_.push_back({reader, served});
      });
    }
    std::sort(readers_.begin(), readers_.end());
    for (const auto& [reader, served] : readers_) {
      if (run.TakeInput(reader, served)) run.QueueOp(reader, now);
    }
    if (next < arriving.size()) {
      delivered_[device] = static_cast<int32_t>(next);
      ScheduleArrival(run, device, arriving[next]);
      return;
    }
    for (size_t i = 0; i < next; ++i) queue_.Pop(device);
    delivered_[device] = 0;
    arriving_at_ = kNoLink;
    ScheduleNext(run, device);
  }

  std::vector<double> arrival_us_;  // [transfers]
  std::vector<int32_t> delivered_;  // [D] how many of the transfers that arrive at the time of the last event have been
  std::vector<int32_t> lowest_;     // [D] the transfer whose arrival is scheduled
  // Scratch: the transfers of the link arriving_at_ that arrive at arriving_us_, and the readers of one producer's.
  size_t arriving_at_ = kNoLink;
  double arriving_us_ = 0;
  std::vector<int32_t> arriving_;
  std::vector<std::pair<OpIndex, bool>> readers_;
};

}  // namespace emplace
