// Calls of libraries that cannot be stopped.
#pragma once

#include <chrono>
#include <future>
#include <thread>
#include <type_traits>
#include <utility>

#include "common/threads/stop.h"

namespace emplace {

// Returns what work() returns, or throws what it throws. It runs in a thread of its own. Once `stop` says so, the call
// throws Stopped at once; the thread then goes on by itself and what it returns is dropped. REQUIRES: `work` owns all
// that it touches.
template <typename Work>
std::invoke_result_t<Work> RunOrAbandon(Work work, const StopSignal& stop) {
  constexpr std::chrono::milliseconds kBetweenLooks(10);
  std::packaged_task<std::invoke_result_t<Work>()> task(std::move(work));
  std::future<std::invoke_result_t<Work>> result = task.get_future();  // Does not wait in its destructor.
  std::thread(std::move(task)).detach();
  while (result.wait_for(kBetweenLooks) != std::future_status::ready) stop.Poll();
  return result.get();
}

}  // namespace emplace
