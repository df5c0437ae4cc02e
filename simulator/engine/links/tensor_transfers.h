// The transfers of the link model in which one transfer of a tensor serves all its remote consumers. A transfer's
// number is that of its tensor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulator/engine/links/outgoing.h"
#include "simulator/engine/run/run_state.h"

namespace emplace {

class TensorTransfers {
 public:
  static size_t Numbers(const SimGraph& graph) { return graph.tensor_bytes.size(); }
  static size_t Most(const SimGraph& graph) { return graph.tensor_bytes.size(); }

  static size_t MostOfAnOp(const SimGraph& graph) {
    int32_t most = 0;
    for (size_t o = 0; o < static_cast<size_t>(graph.num_ops); ++o) {
      most = std::max(most, graph.tensor_begin[o + 1] - graph.tensor_begin[o]);
    }
    return static_cast<size_t>(most);
  }

  explicit TensorTransfers(const SimGraph& graph) { outgoing_.reserve(MostOfAnOp(graph)); }

  // Calls request(transfer) for the transfers of `op` from `device`, in the order of outgoing.h. device_of(consumer):
  // its device. REQUIRES: `op` has a consumer on another device.
  template <typename DeviceOf, typename Request>
  void ForEachOf(const SimGraph& graph, DeviceOf device_of, OpIndex op, size_t device, Request request) {
    const int32_t first_tensor = graph.tensor_begin[static_cast<size_t>(op)];
    const int32_t last_tensor = graph.tensor_begin[static_cast<size_t>(op) + 1];
    if (last_tensor - first_tensor == 1) {  // Most ops have one tensor, which then has the consumer elsewhere.
      request(first_tensor);
      return;
    }
    outgoing_.clear();
    for (int32_t tensor = first_tensor; tensor < last_tensor; ++tensor) {
      for (const OpIndex consumer : graph.tensor_consumers.Row(tensor)) {
        if (device_of(consumer) == device) continue;
        outgoing_.push_back({consumer, tensor});
        break;
      }
    }
    std::sort(outgoing_.begin(), outgoing_.end());
    for (const Outgoing& transfer : outgoing_) request(transfer.transfer);
  }

  int32_t TensorOf(int32_t transfer) const { return transfer; }
  DeviceIndex DestinationOf(const RunState&, int32_t) const { return Transfer::kAllReaders; }

  // Calls visit(consumer, served) for all readers of the tensor. The transfer serves those on
  // devices other than `from`.
  template <typename Visit>
  void ForEachReader(const RunState& run, int32_t transfer, size_t from, Visit visit) const {
    for (const OpIndex consumer : run.graph.tensor_consumers.Row(transfer))
      visit(consumer, run.DeviceOf(consumer) != from);
  }

 private:
  std::vector<Outgoing> outgoing_;  // Scratch of ForEachOf.
};

}  // namespace emplace
