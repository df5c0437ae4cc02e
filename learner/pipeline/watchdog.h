// Ends a run whose learner hangs. A thread that makes no progress would otherwise stop all others, the actors and the
// cluster's job for ever.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "learner/stage_clock.h"

namespace emplace {

class Watchdog {
 public:
  // Called when a stage hangs, at most once, on the watchdog's thread. `reason` is one line that names the stage, the
  // process, its host and the last update. The callee must not wait for any stage.
  using Alarm = std::function<void(const std::string& reason)>;

  // A stage, or the main thread, hangs when it works and has made no progress for `limit_s` seconds; time in which the
  // whole process was stopped does not count. 0: there is no watchdog. `progress` says, for `reason`, how far the run
  // has come. REQUIRES: clocks and main outlive the watchdog.
  Watchdog(const StageClocks& clocks, const StageClock& main, double limit_s, std::function<std::string()> progress,
           Alarm alarm);

 private:
  void Run(const std::stop_token& stop) const;
  // Seconds without progress, when they are too many.
  std::optional<double> Hangs(const StageClock& clock) const;
  std::string Reason(const std::string& who, double silent_s) const;

  const StageClocks& clocks_;
  const StageClock& main_;
  const double limit_s_;
  const std::function<std::string()> progress_;
  const Alarm alarm_;
  std::jthread thread_;  // The last member: it uses everything above.
};

}  // namespace emplace
