#include "simulator/methods/lists/least_memory.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

namespace emplace {
namespace {

class LeastMemory {
 public:
  LeastMemory(const ScheduleGraph& graph, std::span<const DeviceIndex> placement)
      : graph_(graph),
        sim_(graph.task().sim),
        placement_(placement),
        missing_(sim_.num_inputs),
        made_bytes_(placement.size()),
        added_bytes_(placement.size()),
        turn_(placement.size(), kNotReady),
        readers_left_(sim_.tensor_bytes.size() * static_cast<size_t>(sim_.num_devices)) {
    for (OpIndex op = 0; op < sim_.num_ops; ++op) CountReaders(op);
  }

  DeviceOrders Run() {
    DeviceOrders orders(static_cast<size_t>(sim_.num_devices));
    // What comes first in the graph is taken first where nothing else decides.
    for (OpIndex op = sim_.num_ops - 1; op >= 0; --op) {
      if (missing_[static_cast<size_t>(op)] == 0) MakeReady(op);
    }
    while (!ready_.empty()) {
      const OpIndex op = std::get<OpIndex>(*ready_.begin());
      ready_.erase(ready_.begin());
      turn_[static_cast<size_t>(op)] = kDone;
      orders[static_cast<size_t>(DeviceOf(op))].push_back(op);
      ReadInputs(op);
      const std::span<const OpIndex> readers = sim_.ReadersOf(op);
      for (size_t i = readers.size(); i-- > 0;) {
        if (--missing_[static_cast<size_t>(readers[i])] == 0) MakeReady(readers[i]);
      }
    }
    return orders;
  }

 private:
  // Less what it frees beyond what it adds, 0 if it frees no more; the later it got ready the lower.
  using Key = std::tuple<int64_t, int64_t, OpIndex>;
  static constexpr int64_t kNotReady = -1;
  static constexpr int64_t kDone = -2;

  DeviceIndex DeviceOf(OpIndex op) const { return placement_[static_cast<size_t>(op)]; }
  // Ops on the device that will still read the tensor.
  int32_t& ReadersLeft(int32_t tensor, DeviceIndex device) {
    return readers_left_[static_cast<size_t>(tensor) * static_cast<size_t>(sim_.num_devices) +
                         static_cast<size_t>(device)];
  }
  // Bytes of a tensor on a device that reads it.
  int64_t HeldBytes(int32_t tensor, DeviceIndex device) const {
    const auto t = static_cast<size_t>(tensor);
    return DeviceOf(graph_.ProducerOf(tensor)) == device ? sim_.tensor_held_bytes[t] : sim_.tensor_bytes[t];
  }

  // What the op makes is held wherever it is read.
  void CountReaders(OpIndex op) {
    const auto o = static_cast<size_t>(op);
    made_bytes_[o] = sim_.staying_bytes[o];
    for (const int32_t tensor : sim_.TensorsOf(op)) {
      for (const OpIndex reader : sim_.tensor_consumers.Row(tensor)) {
        if (ReadersLeft(tensor, DeviceOf(reader))++ == 0) made_bytes_[o] += HeldBytes(tensor, DeviceOf(reader));
      }
    }
  }

  int64_t AddedBytes(OpIndex op) {
    int64_t bytes = made_bytes_[static_cast<size_t>(op)];
    for (const int32_t tensor : graph_.InputsOf(op)) {
      if (ReadersLeft(tensor, DeviceOf(op)) == 1) bytes -= HeldBytes(tensor, DeviceOf(op));
    }
    return bytes;
  }

  Key KeyOf(OpIndex op) const {
    const auto o = static_cast<size_t>(op);
    return {std::min<int64_t>(added_bytes_[o], 0), -turn_[o], op};
  }

  void MakeReady(OpIndex op) {
    turn_[static_cast<size_t>(op)] = turns_++;
    added_bytes_[static_cast<size_t>(op)] = AddedBytes(op);
    ready_.insert(KeyOf(op));
  }

  // The last reader of a tensor on a device frees it, so that it may come earlier.
  void ReadInputs(OpIndex op) {
    const DeviceIndex device = DeviceOf(op);
    for (const int32_t tensor : graph_.InputsOf(op)) {
      if (--ReadersLeft(tensor, device) != 1) continue;
      const std::span<const OpIndex> readers = sim_.tensor_consumers.Row(tensor);
      const auto last = std::ranges::find_if(readers, [&](OpIndex reader) {
        return DeviceOf(reader) == device && turn_[static_cast<size_t>(reader)] != kDone;
      });
      if (turn_[static_cast<size_t>(*last)] == kNotReady) continue;
      ready_.erase(KeyOf(*last));
      added_bytes_[static_cast<size_t>(*last)] -= HeldBytes(tensor, device);
      ready_.insert(KeyOf(*last));
    }
  }

  const ScheduleGraph& graph_;
  const SimGraph& sim_;
  const std::span<const DeviceIndex> placement_;
  std::vector<int32_t> missing_;       // [n] inputs that are not made yet
  std::vector<int64_t> made_bytes_;    // [n]
  std::vector<int64_t> added_bytes_;   // [n] of those that are ready
  std::vector<int64_t> turn_;          // [n] how many got ready before it
  std::vector<int32_t> readers_left_;  // [T * D]
  std::set<Key> ready_;
  int64_t turns_ = 0;
};

}  // namespace

DeviceOrders OrdersOfLeastMemory(const ScheduleGraph& graph, std::span<const DeviceIndex> placement) {
  return LeastMemory(graph, placement).Run();
}

}  // namespace emplace
