// The link models with one sending link for each device, without latency. A link carries one transfer at a time, first
// come, first served; any number of transfers may arrive at a device at the same time.
#pragma once

#include <cstdint>

#include "simulator/engine/links/sender_state.h"

namespace emplace {

// A link takes its next transfer in advance, when the transfer before is delivered, as a device takes its next op. The
// delivery of a transfer that takes no time has the rank of the link's turn at which the transfer starts.
template <typename Transfers>
class SenderLinks : public SenderState<Transfers> {
 public:
  using SenderState<Transfers>::SenderState;

  void Send(RunState& run, OpIndex op, size_t device, double now) {
    transfers_.ForEachOf(
        run.graph, [&](OpIndex reader) { return run.DeviceOf(reader); }, op, device,
        [&](int32_t transfer) { queue_.Push(device, transfer); });
    if (run.LinkIsIdle(device)) StartNext(run, device, now);
  }

  template <typename Run>
  [[gnu::always_inline]] void OnEvent(Run& run, size_t device, bool /*delivery*/, double now) {
    this->Deliver(run, queue_.LastPopped(device), device, now);
    if (queue_.Empty(device)) {
      run.CancelLink(device);
    } else {
      StartNext(run, device, now);
    }
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
  using SenderState<Transfers>::transfers_;
  using SenderState<Transfers>::queue_;

  // Starts the next transfer of the queue. REQUIRES: the queue is not empty, and no delivery is scheduled.
  void StartNext(RunState& run, size_t device, double now) {
    const int32_t transfer = queue_.Pop(device);
    const int32_t tensor = transfers_.TensorOf(transfer);
    const Csr& readers = run.graph.tensor_consumers;
    __builtin_prefetch(readers.items.data() + readers.begin[static_cast<size_t>(tensor)]);  // As in RunState.
    const double start = std::max(now, this->free_at_[device]);
    const double delivered = this->Occupy(run, device, transfer, now);
    if (delivered > start) {
      run.ScheduleDelivery(device, delivered, tensor);
    } else {
      run.ScheduleLinkTurn(device, delivered);
    }
  }
};

}  // namespace emplace
