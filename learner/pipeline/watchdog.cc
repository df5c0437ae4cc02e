#include "learner/pipeline/watchdog.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "common/strings.h"
#include "common/threads/host_name.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostBetweenLooks_s = 1;
// Looks that are further apart than this: the process itself stood still (SIGSTOP, a machine that slept), and not a
// stage.
constexpr std::chrono::seconds kProcessStoodStill(5);

}  // namespace

Watchdog::Watchdog(const StageClocks& clocks, const StageClock& main, double limit_s,
                   std::function<std::string()> progress, Alarm alarm)
    : clocks_(clocks), main_(main), limit_s_(limit_s), progress_(std::move(progress)), alarm_(std::move(alarm)) {
  if (limit_s_ > 0) thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void Watchdog::Run(const std::stop_token& stop) const {
  pthread_setname_np(pthread_self(), "watchdog");  // For profilers and top.
  const std::chrono::duration<double> between(std::min(kMostBetweenLooks_s, limit_s_ / 4));
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  Clock::time_point last_look = Clock::now();
  Clock::time_point watching_since = last_look;
  while (!stopped.wait_for(lock, stop, between, [&] { return stop.stop_requested(); })) {
    const Clock::time_point now = Clock::now();
    if (now - std::exchange(last_look, now) > kProcessStoodStill) watching_since = now;
    if (std::chrono::duration<double>(now - watching_since).count() <= limit_s_) continue;
    for (size_t i = 0; i < metrics::kStages.size(); ++i) {
      if (const auto silent_s = Hangs(clocks_[static_cast<Stage>(i)])) {
        alarm_(Reason(StrCat("stage '", metrics::kStages[i], "'"), *silent_s));
        return;
      }
    }
    // Last: where a stage hangs, the main thread may only wait for it.
    if (const auto silent_s = Hangs(main_)) {
      alarm_(Reason("the main thread", *silent_s));
      return;
    }
  }
}

std::optional<double> Watchdog::Hangs(const StageClock& clock) const {
  const std::optional<double> silent_s = clock.silent_s();
  return silent_s && *silent_s > limit_s_ ? silent_s : std::nullopt;
}

std::string Watchdog::Reason(const std::string& who, double silent_s) const {
  return StrCat(who, " of the learner, process ", ::getpid(), " on ", HostName(),
                ", hangs: it has made no progress for ", silent_s, " s, expected some within learner.watchdog_s, ",
                limit_s_, " s; last: ", progress_());
}

}  // namespace emplace
