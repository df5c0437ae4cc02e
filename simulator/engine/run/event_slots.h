// The coming events of a simulated run. Every device and link has at most one coming event, so there is a slot for
// each, and a winner tree over the slots whose root is the next event. A change costs log2(slots) comparisons without a
// branch, because no processor could predict these branches. Nothing allocates after construction.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

class EventSlots {
 public:
  static constexpr int kSlotBits = 14;
  static constexpr size_t kMaxSlots = size_t{1} << kSlotBits;

  struct Event {
    double time_us;
    size_t rank;
    size_t slot;
  };

  // REQUIRES: slots <= kMaxSlots.
  explicit EventSlots(size_t slots) : leaves_(std::bit_ceil(slots)), nodes_(2 * leaves_, kNothing) {}

  void Clear() { std::fill(nodes_.begin(), nodes_.end(), kNothing); }
  bool Empty() const { return nodes_[1] == kNothing; }
  bool Idle(size_t slot) const { return nodes_[leaves_ + slot] == kNothing; }
  void Cancel(size_t slot) { Set(slot, kNothing); }
  // Replaces the slot's event. Events at equal times go by rank, then by slot. REQUIRES: time_us >= 0.
  void Schedule(size_t slot, double time_us, size_t rank) {
    Set(slot, Key{std::bit_cast<uint64_t>(time_us)} << 64 | (rank << kSlotBits | slot));
  }
  // Returns the earliest event, which stays in its slot. REQUIRES: !Empty().
  Event Next() const {
    const auto order = static_cast<uint64_t>(nodes_[1]);
    return {std::bit_cast<double>(static_cast<uint64_t>(nodes_[1] >> 64)), order >> kSlotBits, order & (kMaxSlots - 1)};
  }

  // Calls visit(span) for all data that changes.
  template <typename Visit>
  void VisitState(Visit&& visit) {
    visit(std::span(nodes_));
  }

 private:
  // Time, rank and slot in one number, so that one comparison orders events. The bits of non-negative doubles ascend as
  // their values do.
  __extension__ using Key = unsigned __int128;
  static constexpr Key kNothing = ~Key{0};

  void Set(size_t slot, Key key) {
    size_t node = leaves_ + slot;
    nodes_[node] = key;
    while (node > 1) {
      key = std::min(key, nodes_[node ^ 1]);
      node >>= 1;
      nodes_[node] = key;
    }
  }

  size_t leaves_;  // A power of two.
  // [2 * leaves_] The parent of node i is i / 2 and holds the lesser key of its children; nodes_[0] is unused.
  std::vector<Key> nodes_;
};

}  // namespace emplace
