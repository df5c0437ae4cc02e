// A row of blocks that run one after the other, such as the layers of a network, in numbers: what a stage, a part of
// the row without gaps, takes on a device, and what passes from one stage to the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/graph/placement.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// A part of a row on one device: blocks [begin, end).
struct Stage {
  DeviceIndex device = 0;
  int32_t begin = 0;
  int32_t end = 0;

  auto operator<=>(const Stage&) const = default;
};
// All blocks of a row, in their order. Each device has one stage at most, and no stage is empty.
using Division = std::vector<Stage>;

// B blocks of n ops on D devices. Times are in us for one step, and multiples of 2^-20 us, so that sums have no
// rounding errors and divisions that are equally good compare equal.
class BlockRow {
 public:
  // block_of_op: [n] from 0 to num_blocks - 1. REQUIRES: task outlives the row.
  BlockRow(const PlacementTask& task, std::vector<int32_t> block_of_op, int32_t num_blocks);

  const PlacementTask& task() const { return task_; }
  int32_t num_blocks() const { return num_blocks_; }
  int32_t microbatches() const { return microbatches_; }  // Parts of the step that do the same; at least 1.
  // [n] the device of each op.
  Placement PlacementOf(const Division& division) const;

  // Time of the stage's ops with their overheads; infinity if the device may not run one of them.
  double WorkUs(const Stage& stage) const;
  // Mean time of each tensor that the stage sends or receives, once (max_load.h).
  double TransfersUs(int32_t begin, int32_t end) const { return transfers_us_[At(begin, end)]; }
  // By how much the change of devices between blocks `at` - 1 and `at` delays a step whose ops wait for each other,
  // with the way back of gradients. A negative time is saved: the overhead after the last op delays nothing elsewhere.
  double CrossingUs(DeviceIndex from, DeviceIndex to, int32_t at) const;
  // What a stage of these blocks occupies at least: parameters; and at most: parameters, all outputs and temporaries,
  // and all that other blocks send.
  int64_t LeastBytes(int32_t begin, int32_t end) const { return Between(least_bytes_, begin, end); }
  int64_t MostBytes(int32_t begin, int32_t end) const { return Between(most_bytes_, begin, end); }

 private:
  struct Border {  // Tensors that the block before a border makes for later blocks, or the reverse.
    double bytes = 0;
    int32_t tensors = 0;
  };

  static int64_t Between(const std::vector<int64_t>& sums, int32_t begin, int32_t end) {
    return sums[static_cast<size_t>(end)] - sums[static_cast<size_t>(begin)];
  }
  size_t At(int32_t begin, int32_t end) const {
    return static_cast<size_t>(begin) * (static_cast<size_t>(num_blocks_) + 1) + static_cast<size_t>(end);
  }
  void AddOps();
  void AddTensors();
  // parts: the blocks of the tensor's maker and readers, ascending.
  void AddTransfer(double us, std::span<const int32_t> parts);
  void SumTransfers();
  double DelayUs(const Border& border, DeviceIndex from, DeviceIndex to) const;

  const PlacementTask& task_;
  const std::vector<int32_t> block_of_op_;
  const int32_t num_blocks_;
  const int32_t microbatches_;
  std::vector<double> work_us_;       // [D * (B + 1)] sums over the blocks before
  std::vector<int32_t> forbidden_;    // [D * (B + 1)] number of ops before that may not run there
  std::vector<double> transfers_us_;  // [(B + 1) * (B + 1)] by begin and end
  std::vector<Border> forward_;       // [B + 1] by the block behind the border
  std::vector<Border> backward_;      // [B + 1]
  std::vector<int64_t> least_bytes_;  // [B + 1] sums over the blocks before
  std::vector<int64_t> most_bytes_;   // [B + 1]
};

}  // namespace emplace
