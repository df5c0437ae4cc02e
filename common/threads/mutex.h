// A mutex that clang's -Wthread-safety understands (clang.llvm.org/docs/ThreadSafetyAnalysis.html). Members say which
// mutex guards them, functions say which one they need, and a build with clang proves it; g++ ignores the annotations.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define EMPLACE_ANNOTATE(x) __attribute__((x))
#else
#define EMPLACE_ANNOTATE(x)
#endif
#define EMPLACE_GUARDED_BY(mutex) EMPLACE_ANNOTATE(guarded_by(mutex))
#define EMPLACE_REQUIRES(mutex) EMPLACE_ANNOTATE(requires_capability(mutex))

namespace emplace {

class EMPLACE_ANNOTATE(capability("mutex")) Mutex {
 public:
  void Lock() EMPLACE_ANNOTATE(acquire_capability()) { mu_.lock(); }
  void Unlock() EMPLACE_ANNOTATE(release_capability()) { mu_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class EMPLACE_ANNOTATE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mu) EMPLACE_ANNOTATE(acquire_capability(mu)) : mu_(mu) { mu_.Lock(); }
  ~MutexLock() EMPLACE_ANNOTATE(release_capability()) { mu_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

// A wait may return early without a reason: call it in a loop that checks the condition.
class CondVar {
 public:
  void Wait(Mutex& mu) EMPLACE_REQUIRES(mu) {
    std::unique_lock<std::mutex> held(mu.mu_, std::adopt_lock);
    changed_.wait(held);
    held.release();  // The caller still holds the mutex.
  }
  // Returns false once `deadline` has passed.
  bool WaitUntil(Mutex& mu, std::chrono::steady_clock::time_point deadline) EMPLACE_REQUIRES(mu) {
    std::unique_lock<std::mutex> held(mu.mu_, std::adopt_lock);
    const bool in_time = changed_.wait_until(held, deadline) == std::cv_status::no_timeout;
    held.release();
    return in_time;
  }
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace emplace
