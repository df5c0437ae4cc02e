// One sending link a device, one transfer at a time, first come, first served; any number may arrive at a device at once.
// `Transfers` says what the transfers of an op are.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/linked_queues.h"
#include "simulator/run_state.h"

namespace emplace {

template <typename Transfers>
class SenderLinks {
 public:
  static size_t NumSlots(const SimGraph& graph) { return static_cast<size_t>(graph.num_devices); }
  static size_t MostTransfers(const SimGraph& graph) { return Transfers::Most(graph); }

  explicit SenderLinks(const SimGraph& graph)
      : transfers_(graph),
        queue_(NumSlots(graph), Transfers::Numbers(graph)),
        sending_(NumSlots(graph)),
        free_at_(NumSlots(graph)) {}

  void Reset() {
    transfers_.Reset();
    queue_.Clear();
  }

  void Send(RunState& run, OpIndex op, size_t device, double now) {
    transfers_.ForEachOf(run, op, device, [&](int32_t transfer) { queue_.Push(device, transfer); });
    if (run.LinkIsIdle(device)) run.ScheduleLinkTurn(device, now);
  }

  void Deliver(RunState& run, size_t device, double now) {
    transfers_.Deliver(run, sending_[device], device, now);
    run.ScheduleLinkTurn(device, free_at_[device]);
  }

  void Turn(RunState& run, size_t device, double now) {
    if (queue_.Empty(device)) {
      run.CancelLink(device);
      return;
    }
    const int32_t transfer = queue_.Pop(device);
    const int32_t tensor = transfers_.TensorOf(transfer);
    const double delivered =
        now + static_cast<double>(run.graph.tensor_bytes[static_cast<size_t>(tensor)]) / run.graph.bandwidth_bytes_per_us;
    sending_[device] = transfer;
    free_at_[device] = delivered + run.graph.transfer_overhead_us;
    run.ScheduleDelivery(device, delivered, tensor);
    if (run.keep_transfers) {
      run.timeline.transfers.push_back({tensor, static_cast<DeviceIndex>(device), transfers_.DestinationOf(run, transfer),
                                        now, delivered, free_at_[device]});
    }
  }

 private:
  Transfers transfers_;
  LinkedQueues queue_;            // [D] of transfers
  std::vector<int32_t> sending_;  // [D] transfer
  std::vector<double> free_at_;   // [D] us; when a sending link has its next turn
};

}  // namespace emplace
