// Threads that share out pieces of work. Starting a piece costs some microseconds at most, because the threads wait
// actively for a while before they sleep, so that pieces may be short.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "common/threads/mutex.h"

namespace emplace {

// One for each core that this process may use.
int ThreadsForAllCores();

// Used by the thread that made it, which works as thread 0.
class ThreadTeam {
 public:
  // threads: in all, at least 1. Where the system gives no more, there are fewer.
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }
  // Calls work(thread, index) once for each index below `count`, lower indices first, and returns after all have
  // returned. Once one has thrown, no further ones begin, and what the lowest index has thrown is thrown in the end, as
  // if one thread had done all.
  void ForEach(size_t count, const std::function<void(size_t thread, size_t index)>& work);

 private:
  void Serve(size_t thread);
  void Work(size_t thread);

  const std::function<void(size_t, size_t)>* work_ = nullptr;  // Of the current round.
  size_t count_ = 0;
  std::atomic<size_t> next_ = 0;     // Index that is taken next.
  std::atomic<size_t> working_ = 0;  // Threads but 0 that have not finished the round.
  std::atomic<uint64_t> round_ = 0;  // A new number starts a round.
  std::atomic<bool> done_ = false;
  Mutex mu_;
  std::exception_ptr thrown_ EMPLACE_GUARDED_BY(mu_);  // By the lowest index of the round so far.
  size_t thrower_ EMPLACE_GUARDED_BY(mu_) = 0;         // That index.
  std::vector<std::jthread> threads_;
};

// What make(index) returns for each index below `count`, made on all cores. Throws as ThreadTeam::ForEach.
template <typename Make>
auto MakeOnAllCores(size_t count, const Make& make) {
  using Made = decltype(make(size_t{}));
  std::vector<std::optional<Made>> slots(count);
  ThreadTeam team(static_cast<int>(std::clamp<size_t>(count, 1, static_cast<size_t>(ThreadsForAllCores()))));
  team.ForEach(count, [&](size_t /*thread*/, size_t i) { slots[i] = make(i); });
  std::vector<Made> made;
  made.reserve(count);
  for (std::optional<Made>& slot : slots) made.push_back(*std::move(slot));
  return made;
}

}  // namespace emplace
