#include "simulator/methods/memory_limits.h"

#include <algorithm>
#include <limits>

namespace emplace {
namespace {

constexpr int kMostTries = 8;
constexpr double kTighter = 0.97;  // What is left of a limit that was not enough.

}  // namespace

MemoryLimits::MemoryLimits(std::span<const int64_t> memory_bytes)
    : memory_bytes_(memory_bytes.begin(), memory_bytes.end()),
      room_bytes_(memory_bytes.size(), std::numeric_limits<double>::infinity()) {}

bool MemoryLimits::Lower(std::span<const double> used_bytes, std::span<const int64_t> peak_bytes) {
  for (size_t d = 0; d < room_bytes_.size(); ++d) {
    const auto peak = static_cast<double>(peak_bytes[d]);
    if (peak <= 0) continue;  // It got nothing, so nothing is known of it.
    room_bytes_[d] = std::min(kTighter * room_bytes_[d], used_bytes[d] * static_cast<double>(memory_bytes_[d]) / peak);
  }
  return ++tries_ < kMostTries;
}

}  // namespace emplace
