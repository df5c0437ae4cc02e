// The transfers of link models in which each device that reads a tensor gets a transfer of its own, for the readers on
// that device. A transfer's number is the position of the first of these readers in SimGraph::tensor_consumers.items.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulator/engine/links/outgoing.h"
#include "simulator/engine/run/run_state.h"

namespace emplace {

class DestinationTransfers {
 public:
  static size_t Numbers(const SimGraph& graph) { return graph.tensor_consumers.items.size(); }
  static size_t Most(const SimGraph& graph) {
    size_t most = 0;
    for (int32_t tensor = 0; tensor < graph.tensor_consumers.rows(); ++tensor) most += MostOf(graph, tensor);
    return most;
  }

  static size_t MostOfAnOp(const SimGraph& graph) {
    size_t most_of_an_op = 0;
    for (size_t o = 0; o < static_cast<size_t>(graph.num_ops); ++o) {
      size_t most = 0;
      for (int32_t tensor = graph.tensor_begin[o]; tensor < graph.tensor_begin[o + 1]; ++tensor)
        most += MostOf(graph, tensor);
      most_of_an_op = std::max(most_of_an_op, most);
    }
    return most_of_an_op;
  }

  explicit DestinationTransfers(const SimGraph& graph) : last_visit_to_(static_cast<size_t>(graph.num_devices)) {
    outgoing_.reserve(MostOfAnOp(graph));
    for (int32_t tensor = 0; tensor < graph.tensor_consumers.rows(); ++tensor) {
      tensor_of_.insert(tensor_of_.end(), graph.tensor_consumers.Row(tensor).size(), tensor);
    }
  }

  // Calls request(transfer) for the transfers of `op` from `device`, in the order of outgoing.h.
  // device_of(consumer): its device.
  template <typename DeviceOf, typename Request>
  void ForEachOf(const SimGraph& graph, DeviceOf device_of, OpIndex op, size_t device, Request request) {
    outgoing_.clear();
    const Csr& consumers = graph.tensor_consumers;
    const int32_t last_tensor = graph.tensor_begin[static_cast<size_t>(op) + 1];
    for (int32_t tensor = graph.tensor_begin[static_cast<size_t>(op)]; tensor < last_tensor; ++tensor) {
      ++visits_;
      const int32_t end = consumers.begin[static_cast<size_t>(tensor) + 1];
      for (int32_t i = consumers.begin[static_cast<size_t>(tensor)]; i < end; ++i) {
        const OpIndex consumer = consumers.items[static_cast<size_t>(i)];
        const size_t to = device_of(consumer);
        if (to == device || last_visit_to_[to] == visits_) continue;
        last_visit_to_[to] = visits_;
        outgoing_.push_back({consumer, i});
      }
    }
    std::sort(outgoing_.begin(), outgoing_.end());
    for (const Outgoing& transfer : outgoing_) request(transfer.transfer);
  }

  int32_t TensorOf(int32_t transfer) const { return tensor_of_[static_cast<size_t>(transfer)]; }
  DeviceIndex DestinationOf(const RunState& run, int32_t transfer) const {
    return static_cast<DeviceIndex>(run.DeviceOf(run.graph.tensor_consumers.items[static_cast<size_t>(transfer)]));
  }

  // Calls visit(consumer, served) for all readers that the transfer may serve. It serves those on its
  // first reader's device.
  template <typename Visit>
  void ForEachReader(const RunState& run, int32_t transfer, size_t /*from*/, Visit visit) const {
    const Csr& consumers = run.graph.tensor_consumers;
    const auto end = static_cast<size_t>(consumers.begin[static_cast<size_t>(TensorOf(transfer)) + 1]);
    const auto to = static_cast<size_t>(DestinationOf(run, transfer));
    for (auto i = static_cast<size_t>(transfer); i < end; ++i) {
      visit(consumers.items[i], run.DeviceOf(consumers.items[i]) == to);
    }
  }

 private:
  static size_t MostOf(const SimGraph& graph, int32_t tensor) {
    return std::min(graph.tensor_consumers.Row(tensor).size(), static_cast<size_t>(graph.num_devices - 1));
  }

  std::vector<int32_t> tensor_of_;  // [consumers]
  // Scratch of ForEachOf.
  int64_t visits_ = 0;                  // Tensors visited so far in all calls.
  std::vector<int64_t> last_visit_to_;  // [D] the last visit whose tensor has a reader on the device
  std::vector<Outgoing> outgoing_;
};

}  // namespace emplace
