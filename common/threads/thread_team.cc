#include "common/threads/thread_team.h"

#include <sched.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "common/error.h"

namespace emplace {
namespace {

// First as long as another thread may need for its piece of work, while it runs on a core of its own. Then other
// threads may have the core: where this one is in the way of the very thread that it waits for, spinning would be in
// vain. In all about as long as putting a thread to sleep and waking it up takes.
constexpr int kSpins = 100;
constexpr int kYields = 200;

// Returns once `value` is no longer `old`.
template <typename T>
void WaitWhile(const std::atomic<T>& value, T old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  for (int yields = 0; yields < kYields; ++yields) {
    if (value.load(std::memory_order_acquire) != old) return;
    std::this_thread::yield();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

int ThreadsForAllCores() {
  cpu_set_t own;  // Of all cores, those that a job may use, where a scheduler has bound it to some.
  if (::sched_getaffinity(0, sizeof own, &own) == 0) return std::max(1, CPU_COUNT(&own));
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

ThreadTeam::ThreadTeam(int threads) {
  EMPLACE_CHECK(threads >= 1);
  try {
    for (int thread = 1; thread < threads; ++thread) {
      threads_.emplace_back([this, thread] { Serve(static_cast<size_t>(thread)); });
    }
  } catch (const std::system_error&) {  // The limit of threads: those that there are do the work.
  }
}

ThreadTeam::~ThreadTeam() {
  done_ = true;
  ++round_;
  round_.notify_all();
}

void ThreadTeam::ForEach(size_t count, const std::function<void(size_t, size_t)>& work) {
  work_ = &work;
  count_ = count;
  next_ = 0;
  if (count > 1 && !threads_.empty()) {
    working_ = threads_.size();
    ++round_;
    round_.notify_all();
  }
  Work(0);
  for (size_t working = working_; working > 0; working = working_) WaitWhile(working_, working);
  std::exception_ptr thrown;
  {
    const MutexLock lock(mu_);
    thrown = std::exchange(thrown_, nullptr);
  }
  if (thrown) std::rethrow_exception(thrown);
}

void ThreadTeam::Serve(size_t thread) {
  for (uint64_t round = 0;;) {
    WaitWhile(round_, round);
    ++round;
    if (done_) return;
    Work(thread);
    if (--working_ == 0) working_.notify_all();
  }
}

// Does the indices that no other thread has taken.
void ThreadTeam::Work(size_t thread) {
  size_t index = next_++;
  try {
    for (; index < count_; index = next_++) (*work_)(thread, index);
  } catch (...) {
    next_ = count_;
    const MutexLock lock(mu_);
    if (!thrown_ || index < thrower_) {
      thrown_ = std::current_exception();
      thrower_ = index;
    }
  }
}

}  // namespace emplace
