// What the link models with one sending link for each device have in common: the queues of the links, and what has to
// be known of a run to reuse it (event_loop.h). `Transfers` says which transfers an op makes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "simulator/engine/links/request_comparison.h"
#include "simulator/engine/run/linked_queues.h"
#include "simulator/engine/run/run_state.h"

namespace emplace {

template <typename Transfers>
class SenderState {
 public:
  static size_t NumSlots(const SimGraph& graph) { return static_cast<size_t>(graph.num_devices); }
  static size_t MostTransfers(const SimGraph& graph) { return Transfers::Most(graph); }

  explicit SenderState(const SimGraph& graph)
      : transfers_(graph),
        queue_(NumSlots(graph), Transfers::Numbers(graph)),
        free_at_(NumSlots(graph)),
        comparison_(Transfers::MostOfAnOp(graph)) {
    sending_us_.reserve(graph.tensor_bytes.size());
    for (const int64_t bytes : graph.tensor_bytes) {
      sending_us_.push_back(static_cast<double>(bytes) / graph.bandwidth_bytes_per_us);
    }
  }

  void Reset() {
    queue_.Clear();
    std::fill(free_at_.begin(), free_at_.end(), 0.0);
  }

  // Sorts the transfers by start. No two are equal, so that any way of sorting gives the same.
  double Finish(RunState& run) const {
    std::ranges::sort(run.timeline.transfers, {}, [](const Transfer& transfer) {
      return std::tuple(transfer.start_us, transfer.from, transfer.free_us, transfer.tensor, transfer.to);
    });
    return *std::max_element(free_at_.begin(), free_at_.end());
  }

  // A transfer's destination makes no difference to the link.
  template <typename DeviceOf>
  bool SendsTheSame(const RunState& run, OpIndex op, size_t device, DeviceOf new_device_of) {
    return comparison_.AreTheSame(transfers_, run, op, device, new_device_of,
                                  [](int32_t transfer, const auto&) { return static_cast<size_t>(transfer); });
  }
  void Replay(RunState& run, int32_t transfer) const {
    const size_t from = run.DeviceOf(ProducerOf(run, transfer));
    transfers_.ForEachReader(run, transfer, from, [&](OpIndex reader, bool served) { run.TakeInput(reader, served); });
  }
  template <typename Visit>
  void VisitState(Visit&& visit) {
    queue_.VisitState(visit);
    visit(std::span(free_at_));
  }

 protected:
  OpIndex ProducerOf(const RunState& run, int32_t transfer) const {
    return run.producer_of[static_cast<size_t>(transfers_.TensorOf(transfer))];
  }
  // Occupies the link with a transfer that may start at `now`. Returns when it has been sent.
  double Occupy(RunState& run, size_t device, int32_t transfer, double now) {
    const int32_t tensor = transfers_.TensorOf(transfer);
    const double start = std::max(now, free_at_[device]);
    const double sent = start + sending_us_[static_cast<size_t>(tensor)];
    free_at_[device] = sent + run.graph.transfer_overhead_us;
    if (run.keep_transfers) {
      run.timeline.transfers.push_back({tensor, static_cast<DeviceIndex>(device),
                                        transfers_.DestinationOf(run, transfer), start, sent,
                                        sent + run.graph.transfer_latency_us, free_at_[device]});
    }
    return sent;
  }
  template <typename Run>
  [[gnu::always_inline]] void Deliver(Run& run, int32_t transfer, size_t device, double now) {
    run.LogDelivery(transfer, now);
    transfers_.ForEachReader(run, transfer, device, [&](OpIndex reader, bool served) {
      if (run.TakeInput(reader, served)) run.QueueOp(reader, now);
    });
  }

  Transfers transfers_;
  LinkedQueues queue_;           // [D] queues of transfers
  std::vector<double> free_at_;  // [D] us; when the link can start its next transfer

 private:
  RequestComparison comparison_;
  std::vector<double> sending_us_;  // [T] bytes / bandwidth
};

}  // namespace emplace
