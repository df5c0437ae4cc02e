#include "learner/watchdog.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "common/host_name.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr double kMostBetweenLooks_s = 1;

}  // namespace

Watchdog::Watchdog(const StageClocks& clocks, double limit_s, std::function<std::string()> progress, Alarm alarm)
    : clocks_(clocks), limit_s_(limit_s), progress_(std::move(progress)), alarm_(std::move(alarm)) {
  if (limit_s_ > 0) thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void Watchdog::Run(const std::stop_token& stop) const {
  pthread_setname_np(pthread_self(), "watchdog");  // For profilers and top.
  const std::chrono::duration<double> between(std::min(kMostBetweenLooks_s, limit_s_ / 4));
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, stop, between, [&] { return stop.stop_requested(); })) {
    for (size_t i = 0; i < kStageNames.size(); ++i) {
      const std::optional<double> silent_s = clocks_[static_cast<Stage>(i)].silent_s();
      if (!silent_s || *silent_s <= limit_s_) continue;
      alarm_(StrCat("stage '", kStageNames[i], "' of the learner, process ", ::getpid(), " on ", HostName(),
                    ", hangs: nothing was heard of it for ", *silent_s, " s, expected a sign within learner.watchdog_s, ", limit_s_,
                    " s; last: ", progress_()));
      return;
    }
  }
}

}  // namespace emplace
