// First in, first out queues over the indices [0, size), each index in at most one queue: linked through one array, so that
// no queue ever allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace emplace {

class LinkedQueues {
 public:
  LinkedQueues(size_t queues, size_t size) : head_(queues, kNone), tail_(queues), next_(size) {}

  void Clear() { std::fill(head_.begin(), head_.end(), kNone); }
  bool Empty(size_t queue) const { return head_[queue] == kNone; }
  // REQUIRES (Front and Pop): the queue is not empty.
  int32_t Front(size_t queue) const { return head_[queue]; }
  void Push(size_t queue, int32_t item) {
    next_[static_cast<size_t>(item)] = kNone;
    if (head_[queue] == kNone) {
      head_[queue] = item;
    } else {
      next_[static_cast<size_t>(tail_[queue])] = item;
    }
    tail_[queue] = item;
  }
  int32_t Pop(size_t queue) {
    const int32_t item = head_[queue];
    head_[queue] = next_[static_cast<size_t>(item)];
    return item;
  }

 private:
  static constexpr int32_t kNone = -1;

  std::vector<int32_t> head_;
  std::vector<int32_t> tail_;
  std::vector<int32_t> next_;
};

}  // namespace emplace
