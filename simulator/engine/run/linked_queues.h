// First-in first-out queues of the indices [0, size). Each index is pushed at most once between two calls of Clear. The
// items are linked through one array, so that no queue allocates. Popped items stay linked: a queue remembers all items
// that were pushed since Clear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

class LinkedQueues {
 public:
  LinkedQueues(size_t queues, size_t size) : size_(size), ends_(queues), taken_ends_(queues), next_(size + queues) {
    Clear();
  }

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
  // Whether the queue holds at least two items.
  bool HasSecond(size_t queue) const { return !Empty(queue) && Front(queue) != ends_[queue].pushed; }
  int32_t Second(size_t queue) const { return next_[static_cast<size_t>(Front(queue))]; }  // REQUIRES: HasSecond.
  // Calls visit(item) for the items of the queue, in their order, until it returns false.
  template <typename Visit>
  void ForEachQueuedWhile(size_t queue, Visit visit) const {
    for (int32_t item = ends_[queue].popped; item != ends_[queue].pushed;) {
      item = next_[static_cast<size_t>(item)];
      if (!visit(item)) return;
    }
  }
  int32_t Pop(size_t queue) { return ends_[queue].popped = Front(queue); }
  // Before the first Pop, a number from size on.
  int32_t LastPopped(size_t queue) const { return ends_[queue].popped; }

  // Calls visit(item) for all items that were pushed since Clear, in the order of pushing.
  template <typename Visit>
  void ForEachPushed(size_t queue, Visit visit) const {
    for (int32_t item = Sentinel(queue); item != ends_[queue].pushed;) {
      item = next_[static_cast<size_t>(item)];
      visit(item);
    }
  }

  // Calls visit(span) for the ends of all queues. The links up to a queue's end never change, so the ends of an earlier
  // moment are all that is needed to go back to it.
  template <typename Visit>
  void VisitState(Visit&& visit) {
    visit(std::span(ends_));
  }

  // The item after each, as next_ below.
  using Links = std::vector<int32_t>;
  Links MakeLinks() const { return Links(next_.size()); }
  void SwapLinks(Links& links) { next_.swap(links); }
  // Takes over, from the links of a run whose ends of some moment these are, the links of the items that are queued.
  // Calls visit(item) for them.
  template <typename Visit>
  void TakeQueued(const Links& links, Visit visit) {
    taken_ends_ = ends_;
    for (const Ends& ends : ends_) CopyLinks(links, ends.popped, ends.pushed, visit);
  }
  // Takes over the links of all items that were popped before that moment. Calls visit(item) for them. REQUIRES:
  // TakeQueued was called with the same links.
  template <typename Visit>
  void TakePopped(const Links& links, Visit visit) {
    for (size_t queue = 0; queue < taken_ends_.size(); ++queue) {
      CopyLinks(links, Sentinel(queue), taken_ends_[queue].popped, visit);
    }
  }

 private:
  struct Ends {
    int32_t popped;  // The last item popped and the last one pushed, or the queue's sentinel.
    int32_t pushed;
  };

  // Copies the links from `from` to `to`.
  template <typename Visit>
  void CopyLinks(const Links& links, int32_t from, int32_t to, Visit visit) {
    for (int32_t item = from; item != to; visit(item)) {
      item = next_[static_cast<size_t>(item)] = links[static_cast<size_t>(item)];
    }
  }
  int32_t Sentinel(size_t queue) const { return static_cast<int32_t>(size_ + queue); }

  size_t size_;
  std::vector<Ends> ends_;        // [queues]
  std::vector<Ends> taken_ends_;  // [queues] as they were at TakeQueued
  Links next_;                    // [size + queues] the item after each; a queue's sentinel comes before its first.
};

}  // namespace emplace
