// Peak memory as a real device needs it: what emplace-hardware allocates.
//
// A tensor is on its op's device from the op's start until the op has ended, its last reader there has ended, and it
// has been delivered to all other devices that read it. Each of these holds a copy from its delivery until its last
// reader there has ended. What a step leaves stays to its end, temp_bytes are there while the op runs, and param_bytes,
// of which resident tensors are a part, for the whole run. A time belongs to what begins then, not to what ends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/csr.h"
#include "common/ids.h"
#include "simulator/engine/memory/peak_memory.h"

namespace emplace {

// Goes through the run's log once. Takes time linear in ops and edges.
class ExecutorMemory final : public PeakMemory {
 public:
  // REQUIRES: graph outlives it.
  explicit ExecutorMemory(const SimGraph& graph);

  void Compute(std::span<const DeviceIndex> placement, const RunState& run, std::span<int64_t> peak_bytes) override;

 private:
  struct Device {
    size_t next_start;  // Position in order_ of the next op of the device whose start is to come,
    size_t last_start;  // and behind its last op.
    double now_us;      // Time of the last change.
    int64_t held_bytes;
    int64_t peak_bytes;  // Before now_us.
  };

  void Begin(const RunState& run);
  // Brings a device to a time: what starts there until then is taken.
  Device& At(size_t device, double now_us);
  void Start(Device& device, OpIndex op, double start_us);
  void MoveTo(Device& device, double now_us);
  void EndOp(OpIndex op, double now_us);
  int64_t CountReaders(int32_t tensor, size_t device);
  void Deliver(int32_t transfer, double now_us);
  void TakeCopy(int32_t tensor, int32_t reader, double now_us);
  void ReleaseOnce(int32_t tensor, Device& device);

  size_t DeviceOf(OpIndex op) const { return static_cast<size_t>(placement_[static_cast<size_t>(op)]); }
  // A reader is a position in the items of tensor_consumers.
  size_t DeviceOfReader(int32_t reader) const {
    return DeviceOf(graph_.tensor_consumers.items[static_cast<size_t>(reader)]);
  }

  static constexpr int32_t kLocal = -1;

  const SimGraph& graph_;
  Csr reads_;                         // [n] the op as a reader of each tensor that has bytes
  std::vector<int32_t> tensor_of_;    // [readers]
  std::vector<OpIndex> producer_of_;  // [T]
  // Of the run.
  std::span<const DeviceIndex> placement_;
  std::span<const double> start_us_;
  std::vector<Device> devices_;        // [D]
  std::vector<OpIndex> order_;         // [n] by device, then start
  std::vector<int32_t> needed_;        // [T] readers on its op's device that have not ended, and deliveries to come
  std::vector<int32_t> copy_of_;       // [readers] the first reader on the reader's device; kLocal on the op's device
  std::vector<int32_t> copy_needed_;   // [readers] by first reader: those on its device that have not ended
  std::vector<int32_t> first_reader_;  // [D] scratch of CountReaders: of the tensor counted last that is read there
  std::vector<int32_t> counted_;       // [D] scratch: the tensor for which first_reader_ is set
};

}  // namespace emplace
