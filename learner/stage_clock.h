// How the stages of the learner's pipeline spend their time. A stage either works on what it has, or waits: for
// something to work on, or for room to put it. The stage that is busy nearly all the time is the one that the others
// wait for.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include "common/mutex.h"

namespace emplace {

// In the order in which an episode passes through them.
enum class Stage { kReceive, kCheck, kBatch, kUpdate, kPublish, kEvaluate };
inline constexpr std::array<const char*, 6> kStageNames = {"receive", "check",   "batch",
                                                           "update",  "publish", "evaluate"};
inline const char* NameOf(Stage stage) { return kStageNames[static_cast<size_t>(stage)]; }

struct StageSeconds {
  double busy = 0;
  double waiting = 0;
};
StageSeconds operator-(const StageSeconds& later, const StageSeconds& earlier);

// Splits the time since its construction. Starts by waiting. Any thread may call any function, but one thread at a time
// is the stage.
class StageClock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit StageClock(Time (*now)() = &std::chrono::steady_clock::now) : now_(now), since_(now()) {}

  // The stage works, or waits, from now on.
  void Busy() { Switch(true); }
  void Waiting() { Switch(false); }

  // Up to now, so including what still goes on.
  StageSeconds seconds() const;

 private:
  void Switch(bool busy);
  StageSeconds SecondsAt(Time now) const EMPLACE_REQUIRES(mu_);

  Time (*const now_)();
  mutable Mutex mu_;
  bool busy_ EMPLACE_GUARDED_BY(mu_) = false;
  Time since_ EMPLACE_GUARDED_BY(mu_);           // When the stage last switched.
  StageSeconds before_ EMPLACE_GUARDED_BY(mu_);  // Up to then.
};

// Of every stage, indexed by Stage.
class StageTimes {
 public:
  StageSeconds& operator[](Stage stage) { return seconds_[static_cast<size_t>(stage)]; }
  const StageSeconds& operator[](Stage stage) const { return seconds_[static_cast<size_t>(stage)]; }
  friend StageTimes operator-(const StageTimes& later, const StageTimes& earlier);

 private:
  std::array<StageSeconds, kStageNames.size()> seconds_;
};

// A clock for every stage.
class StageClocks {
 public:
  StageClock& operator[](Stage stage) { return clocks_[static_cast<size_t>(stage)]; }
  StageTimes Read() const;

 private:
  std::array<StageClock, kStageNames.size()> clocks_;
};

}  // namespace emplace
