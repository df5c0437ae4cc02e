// Ends a run whose learner hangs: a thread that has begun something and gets no further would otherwise hold up all
// others, the actors and the cluster's job, for ever.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "learner/stage_clock.h"

namespace emplace {

class Watchdog {
 public:
  // What to do about it, given one line that names the stage, the process, its host and what it did last. Called at
  // most once, on the watchdog's thread; no stage can be waited for any more.
  using Alarm = std::function<void(const std::string& reason)>;

  // A stage hangs when work of it is under way and nothing has been heard of it for `limit_s` in which the process has
  // run. 0: nobody watches. `progress` says how far the run has come, for the message. REQUIRES: clocks outlive it.
  Watchdog(const StageClocks& clocks, double limit_s, std::function<std::string()> progress, Alarm alarm);

 private:
  void Run(const std::stop_token& stop) const;

  const StageClocks& clocks_;
  const double limit_s_;
  const std::function<std::string()> progress_;
  const Alarm alarm_;
  std::jthread thread_;  // Last: it uses everything above.
};

}  // namespace emplace
