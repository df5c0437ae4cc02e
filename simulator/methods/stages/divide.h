// The exact division of a row of blocks into stages, by dynamic programming over the steps of device_steps.h and the
// block with which a stage ends. In the time of steps times blocks squared.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/threads/stop.h"
#include "simulator/methods/stages/block_row.h"
#include "simulator/methods/stages/device_steps.h"

namespace emplace {

// What a division is to have least of, and of equals then.
enum class DivideBy {
  kLatency,     // The sum of all stages' work and of the crossings between them; the work of the busiest stage.
  kThroughput,  // The load of the busiest stage, its work and transfers; the sum of all stages' work.
  kBytesOver,   // Bytes over the memory of the devices; the work of the busiest stage.
};

// Bytes that stages need, as far as is known, and never less than a part of the stage needs. They grow as more is
// learned.
class StageBytes {
 public:
  explicit StageBytes(const BlockRow& row);

  int64_t Of(int32_t begin, int32_t end) const { return bytes_[At(begin, end)]; }
  // Takes in that a stage was seen to need `bytes`. A part of it then needs no less than that without the most that the
  // blocks which it lacks may occupy.
  void Learn(const Stage& stage, int64_t bytes);

 private:
  size_t At(int32_t begin, int32_t end) const {
    return static_cast<size_t>(begin) * (static_cast<size_t>(row_.num_blocks()) + 1) + static_cast<size_t>(end);
  }

  const BlockRow& row_;
  std::vector<int64_t> bytes_;  // [(B + 1) * (B + 1)] lower limits, by begin and end
};

struct Divided {
  Division division;
  double value = 0;  // By DivideBy.
  double next = 0;   // That by which equals are compared.
};

// The best divisions into 1, 2, ... stages that fit the memory, or into any number of them where `order` does not count
// them; nullopt: there is none. For kBytesOver stages need not fit. Where it is told to stop, those found so far.
std::vector<std::optional<Divided>> Divide(const BlockRow& row, const DeviceSteps& order, const StageBytes& bytes,
                                           DivideBy by, const StopSignal& stop);

}  // namespace emplace
