// The link models with one sending link for each device. A link carries one transfer at a time, first come,
// first served; any number of transfers may arrive at a device at the same time. `Transfers` says which
// transfers an op makes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/engine/linked_queues.h"
#include "simulator/engine/links/request_comparison.h"
#include "simulator/engine/run_state.h"

namespace emplace {

// A link takes its next transfer in advance, when the transfer before is delivered, as a device takes its next op. The
// delivery of a transfer that takes no time has the rank of the link's turn at which the transfer starts.
template <typename Transfers>
class SenderLinks {
 public:
  static size_t NumSlots(const SimGraph& graph) { return static_cast<size_t>(graph.num_devices); }
  static size_t MostTransfers(const SimGraph& graph) { return Transfers::Most(graph); }

  explicit SenderLinks(const SimGraph& graph)
      : transfers_(graph),
        comparison_(Transfers::MostOfAnOp(graph)),
        queue_(NumSlots(graph), Transfers::Numbers(graph)),
        free_at_(NumSlots(graph)) {
    sending_us_.reserve(graph.tensor_bytes.size());
    for (const int64_t bytes : graph.tensor_bytes) {
      sending_us_.push_back(static_cast<double>(bytes) / graph.bandwidth_bytes_per_us);
    }
  }

  void Reset() {
    queue_.Clear();
    std::fill(free_at_.begin(), free_at_.end(), 0.0);
  }

  void Send(RunState& run, OpIndex op, size_t device, double now) {
    transfers_.ForEachOf(
        run.graph, [&](OpIndex reader) { return run.DeviceOf(reader); }, op, device,
        [&](int32_t transfer) { queue_.Push(device, transfer); });
    if (run.LinkIsIdle(device)) StartNext(run, device, now);
  }

  template <typename Run>
  [[gnu::always_inline]] void OnEvent(Run& run, size_t device, bool /*delivery*/, double now) {
    const int32_t transfer = queue_.LastPopped(device);
    run.LogDelivery(transfer);
    transfers_.ForEachReader(run, transfer, device, [&](OpIndex reader, bool served) {
      if (run.TakeInput(reader, served)) run.QueueOp(reader, now);
    });
    if (queue_.Empty(device)) {
      run.CancelLink(device);
    } else {
      StartNext(run, device, now);
    }
  }

  // Sorts the transfers by start. They are nearly in order, since a link takes each at most its overhead in advance.
  double Finish(RunState& run) const {
    const auto before = [](const Transfer& a, const Transfer& b) {
      return a.start_us != b.start_us ? a.start_us < b.start_us : a.from < b.from;
    };
    std::vector<Transfer>& transfers = run.timeline.transfers;
    for (auto next = transfers.begin(); next != transfers.end(); ++next) {
      std::rotate(std::upper_bound(transfers.begin(), next, *next, before), next, next + 1);
    }
    return *std::max_element(free_at_.begin(), free_at_.end());
  }

  // A transfer's destination makes no difference to the link.
  template <typename DeviceOf>
  bool SendsTheSame(const RunState& run, OpIndex op, size_t device, DeviceOf new_device_of) {
    return comparison_.AreTheSame(transfers_, run, op, device, new_device_of,
                                  [](int32_t transfer, const auto&) { return static_cast<size_t>(transfer); });
  }
  void Replay(RunState& run, int32_t transfer) const {
    const size_t from = run.DeviceOf(run.producer_of[static_cast<size_t>(transfers_.TensorOf(transfer))]);
    transfers_.ForEachReader(run, transfer, from, [&](OpIndex reader, bool served) { run.TakeInput(reader, served); });
  }
  template <typename Visit>
  void VisitState(Visit&& visit) {
    queue_.VisitState(visit);
    visit(std::span(free_at_));
  }
  using History = LinkedQueues::Links;
  History MakeHistory() const { return queue_.MakeLinks(); }
  void SwapHistory(History& other) { queue_.SwapLinks(other); }
  void TakeQueued(const History& other) {
    queue_.TakeQueued(other, [](int32_t) {});
  }
  void TakePast(const History& other) {
    queue_.TakePopped(other, [](int32_t) {});
  }

 private:
  // Starts the next transfer of the queue. REQUIRES: the queue is not empty, and no delivery is scheduled.
  void StartNext(RunState& run, size_t device, double now) {
    const int32_t transfer = queue_.Pop(device);
    const int32_t tensor = transfers_.TensorOf(transfer);
    const Csr& readers = run.graph.tensor_consumers;
    __builtin_prefetch(readers.items.data() + readers.begin[static_cast<size_t>(tensor)]);  // As in RunState.
    const double start = std::max(now, free_at_[device]);
    const double delivered = start + sending_us_[static_cast<size_t>(tensor)];
    free_at_[device] = delivered + run.graph.transfer_overhead_us;
    if (delivered > start) {
      run.ScheduleDelivery(device, delivered, tensor);
    } else {
      run.ScheduleLinkTurn(device, delivered);
    }
    if (run.keep_transfers) {
      run.timeline.transfers.push_back({tensor, static_cast<DeviceIndex>(device),
                                        transfers_.DestinationOf(run, transfer), start, delivered, free_at_[device]});
    }
  }

  Transfers transfers_;
  RequestComparison comparison_;
  LinkedQueues queue_;              // [D] queues of transfers
  std::vector<double> free_at_;     // [D] us; when the link can start its next transfer
  std::vector<double> sending_us_;  // [T] bytes / bandwidth
};

}  // namespace emplace
