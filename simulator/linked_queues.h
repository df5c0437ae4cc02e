// First in, first out queues over the indices [0, size), each index pushed at most once between two Clears: linked
// through one array, so that no queue ever allocates. What was popped stays linked: a queue remembers all that ever
// went through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

class LinkedQueues {
 public:
  LinkedQueues(size_t queues, size_t size) : size_(size), ends_(queues), next_(size + queues) { Clear(); }

  void Clear() {
    for (size_t queue = 0; queue < ends_.size(); ++queue) ends_[queue] = {Sentinel(queue), Sentinel(queue)};
  }
  bool Empty(size_t queue) const { return ends_[queue].popped == ends_[queue].pushed; }
  void Push(size_t queue, int32_t item) {
    next_[static_cast<size_t>(ends_[queue].pushed)] = item;
    ends_[queue].pushed = item;
  }
  // REQUIRES (Front and Pop): the queue is not empty.
  int32_t Front(size_t queue) const { return next_[static_cast<size_t>(ends_[queue].popped)]; }
  int32_t Pop(size_t queue) { return ends_[queue].popped = Front(queue); }
  // REQUIRES: something was popped.
  int32_t LastPopped(size_t queue) const { return ends_[queue].popped; }

  // Calls visit(item) for all that was pushed since Clear, in that order.
  template <typename Visit>
  void ForEachPushed(size_t queue, Visit visit) const {
    for (int32_t item = Sentinel(queue); item != ends_[queue].pushed;) {
      item = next_[static_cast<size_t>(item)];
      visit(item);
    }
  }

  // Calls visit(span) for all that changes but the links: those up to a queue's end stay as they are, so that going
  // back to an earlier end takes the ends alone.
  template <typename Visit>
  void VisitState(Visit&& visit) {
    visit(std::span(ends_));
  }

 private:
  struct Ends {
    int32_t popped;  // The last item popped and the last one pushed; before there is one, the queue's sentinel.
    int32_t pushed;
  };

  int32_t Sentinel(size_t queue) const { return static_cast<int32_t>(size_ + queue); }

  size_t size_;
  std::vector<Ends> ends_;     // [queues]
  std::vector<int32_t> next_;  // [size + queues] the item after each; a queue's sentinel comes before its first.
};

}  // namespace emplace
