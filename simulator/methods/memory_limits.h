// Limits under which a method places, lowered until the simulated peaks fit the memory. What a method counts against a
// limit, the bytes of units that never release anything, overstates what a device holds at a time. So the first limits
// are infinite, and each next limit of a device is in proportion to its last peak.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

class MemoryLimits {
 public:
  // memory_bytes: [D]
  explicit MemoryLimits(std::span<const int64_t> memory_bytes);

  std::span<const double> room_bytes() const { return room_bytes_; }  // [D]
  // Lowers the limits after a placement that did not fit, by what each device was given and by its peak [D]. Returns
  // false after eight placements: it is no use to go on.
  bool Lower(std::span<const double> used_bytes, std::span<const int64_t> peak_bytes);

 private:
  std::vector<int64_t> memory_bytes_;
  std::vector<double> room_bytes_;
  int tries_ = 0;
};

}  // namespace emplace
