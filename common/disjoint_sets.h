// Sets that are joined until few are left (union-find, with path halving).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace emplace {

// Of 0 to n-1, at first each by itself. A set is known by its lowest member. Not thread-safe.
class DisjointSets {
 public:
  explicit DisjointSets(int32_t n) : parent_(static_cast<size_t>(n)), sets_(n) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  int32_t sets() const { return sets_; }
  // The set that holds the item.
  int32_t Find(int32_t item) {
    while (Parent(item) != item) {
      Parent(item) = Parent(Parent(item));
      item = Parent(item);
    }
    return item;
  }
  // Joins the sets of two items. False: they are in one already.
  bool Join(int32_t a, int32_t b) {
    a = Find(a);
    b = Find(b);
    if (a == b) return false;
    Parent(std::max(a, b)) = std::min(a, b);
    --sets_;
    return true;
  }

 private:
  int32_t& Parent(int32_t item) { return parent_[static_cast<size_t>(item)]; }

  std::vector<int32_t> parent_;  // [n] another member of its set; itself if it is the lowest
  int32_t sets_;
};

}  // namespace emplace
