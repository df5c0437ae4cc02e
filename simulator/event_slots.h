// What is to come in a simulated run, where every device and link has one event to come at most: a slot for each, and the
// next event is the earliest slot. Cheaper than a priority queue, and it never allocates after construction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace emplace {

class EventSlots {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  static constexpr int kSlotBits = 14;
  static constexpr size_t kMaxSlots = size_t{1} << kSlotBits;

  struct Event {
    double time_us;  // kNever: nothing is to come, and the rest means nothing.
    size_t rank;
    size_t slot;
  };

  // REQUIRES: slots <= kMaxSlots.
  explicit EventSlots(size_t slots) : time_(slots, kNever), order_(slots) {}

  void Clear() { std::fill(time_.begin(), time_.end(), kNever); }
  bool Idle(size_t slot) const { return time_[slot] == kNever; }
  void Cancel(size_t slot) { time_[slot] = kNever; }
  // Replaces what the slot had to come. Events at equal times go by rank, then by slot.
  void Schedule(size_t slot, double time_us, size_t rank) {
    time_[slot] = time_us;
    order_[slot] = rank << kSlotBits | slot;
  }

  // The earliest event, which stays. Without branches that depend on the times: no processor could predict those.
  Event Next() const {
    double earliest = kNever;
    for (const double time : time_) earliest = std::min(earliest, time);
    uint64_t first = std::numeric_limits<uint64_t>::max();
    for (size_t slot = 0; slot < time_.size(); ++slot) {
      // All ones where the slot is later, which makes its order the greatest.
      const uint64_t later = uint64_t{0} - static_cast<uint64_t>(time_[slot] != earliest);
      first = std::min(first, order_[slot] | later);
    }
    return {earliest, first >> kSlotBits, first & (kMaxSlots - 1)};
  }

 private:
  std::vector<double> time_;
  std::vector<uint64_t> order_;  // A slot's rank over its own index, so that the least of them names the slot as well.
};

}  // namespace emplace
