// A bounded first-in first-out queue between threads. Producers wait while the queue is full; nothing is ever dropped.
// Any thread may call any function.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "common/error.h"
#include "common/threads/mutex.h"

namespace emplace {

template <typename T>
class BoundedQueue {
 public:
  // REQUIRES: capacity > 0 (items).
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) { EMPLACE_CHECK(capacity > 0); }

  // Waits for room. Returns false once the queue is closed; `value` is then unchanged.
  bool Push(T&& value) {
    const MutexLock lock(mu_);
    while (!closed_ && items_.size() >= capacity_) room_.Wait(mu_);
    return Admit(std::move(value));
  }

  // Waits for room for at most `timeout`. Returns false when there is none, or when the queue is closed; `value` is
  // then unchanged.
  bool TryPush(T&& value, std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    const MutexLock lock(mu_);
    while (!closed_ && items_.size() >= capacity_) {
      if (timeout.count() <= 0 || !room_.WaitUntil(mu_, deadline)) break;
    }
    return Admit(std::move(value));
  }

  // Returns the oldest item, after waiting for one for at most `timeout`. nullopt: there is none.
  std::optional<T> Pop(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    const MutexLock lock(mu_);
    while (!closed_ && items_.empty()) {
      if (timeout.count() <= 0 || !filled_.WaitUntil(mu_, deadline)) break;
    }
    return TakeOldest();
  }

  // Returns the oldest item, after waiting for one as long as it takes. nullopt: the queue is closed and empty.
  std::optional<T> Pop() {
    const MutexLock lock(mu_);
    while (!closed_ && items_.empty()) filled_.Wait(mu_);
    return TakeOldest();
  }

  // Waits for room. Returns false once the queue is closed. If there is one producer, its next Push does not wait.
  bool WaitForRoom() {
    const MutexLock lock(mu_);
    while (!closed_ && items_.size() >= capacity_) room_.Wait(mu_);
    return !closed_;
  }

  // From now on the queue takes no items; those inside can still be popped. Wakes all threads that wait.
  void Close() {
    const MutexLock lock(mu_);
    closed_ = true;
    room_.NotifyAll();
    filled_.NotifyAll();
  }

  bool closed() const {
    const MutexLock lock(mu_);
    return closed_;
  }
  size_t size() const {
    const MutexLock lock(mu_);
    return items_.size();
  }
  size_t capacity() const { return capacity_; }

 private:
  bool Admit(T&& value) EMPLACE_REQUIRES(mu_) {
    if (closed_ || items_.size() >= capacity_) return false;
    items_.push_back(std::move(value));
    filled_.NotifyOne();
    return true;
  }
  std::optional<T> TakeOldest() EMPLACE_REQUIRES(mu_) {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    room_.NotifyOne();
    return item;
  }

  const size_t capacity_;
  mutable Mutex mu_;
  CondVar room_;                                 // Signalled when an item leaves or the queue is closed.
  CondVar filled_;                               // Signalled when an item comes or the queue is closed.
  std::deque<T> items_ EMPLACE_GUARDED_BY(mu_);  // Oldest first.
  bool closed_ EMPLACE_GUARDED_BY(mu_) = false;
};

}  // namespace emplace
