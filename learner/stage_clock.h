// How the stages of the learner's pipeline spend their time. A stage either works on what it has, or waits: for
// something to work on, or for room to put it. The stage that is busy nearly all the time is the one that the others
// wait for.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

#include "common/metrics_keys.h"
#include "common/mutex.h"

namespace emplace {

// An index into metrics::kStages.
enum class Stage { kReceive, kCheck, kBatch, kUpdate, kPublish, kEvaluate };
inline const char* NameOf(Stage stage) { return metrics::kStages[static_cast<size_t>(stage)]; }

struct StageSeconds {
  double busy = 0;
  double waiting = 0;
};
StageSeconds operator-(const StageSeconds& later, const StageSeconds& earlier);

// Splits the time since its construction. Starts by waiting. Any thread may call any function. A stage of one thread
// says Busy and Waiting; one of several says when each begins and ends a piece of work, and counts as busy while all
// work: from then on others wait for it.
class StageClock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit StageClock(Time (*now)() = &std::chrono::steady_clock::now) : now_(now), last_(now()), since_(last_) {}

  // The stage works, or waits, from now on. Said again while it works: it still gets on.
  void Busy() { Set(1); }
  void Waiting() { Set(0); }

  // REQUIRES: before the first of its threads begins.
  void SetThreads(int threads);
  void Begin() { Add(1); }
  void End() { Add(-1); }

  // Up to now, so including what still goes on.
  StageSeconds seconds() const;

  // How long nothing was said though work has begun; nullopt: nothing is under way. A long time: a thread hangs.
  std::optional<double> silent_s() const;

 private:
  void Set(int working);
  void Add(int working);
  void Change(int working) EMPLACE_REQUIRES(mu_);
  StageSeconds SecondsAt(Time now) const EMPLACE_REQUIRES(mu_);

  Time (*const now_)();
  mutable Mutex mu_;
  int threads_ EMPLACE_GUARDED_BY(mu_) = 1;
  int working_ EMPLACE_GUARDED_BY(mu_) = 0;  // Of them.
  bool busy_ EMPLACE_GUARDED_BY(mu_) = false;
  Time last_ EMPLACE_GUARDED_BY(mu_);            // When anything was last said.
  Time since_ EMPLACE_GUARDED_BY(mu_);           // When the stage last switched.
  StageSeconds before_ EMPLACE_GUARDED_BY(mu_);  // Up to then.
};

// A piece of work of one of a stage's threads, for as long as it lives.
class StageWork {
 public:
  explicit StageWork(StageClock& clock) : clock_(clock) { clock_.Begin(); }
  ~StageWork() { clock_.End(); }
  StageWork(const StageWork&) = delete;
  StageWork& operator=(const StageWork&) = delete;

 private:
  StageClock& clock_;
};

// Of every stage, indexed by Stage.
class StageTimes {
 public:
  StageSeconds& operator[](Stage stage) { return seconds_[static_cast<size_t>(stage)]; }
  const StageSeconds& operator[](Stage stage) const { return seconds_[static_cast<size_t>(stage)]; }
  friend StageTimes operator-(const StageTimes& later, const StageTimes& earlier);

 private:
  std::array<StageSeconds, metrics::kStages.size()> seconds_;
};

// A clock for every stage.
class StageClocks {
 public:
  StageClock& operator[](Stage stage) { return clocks_[static_cast<size_t>(stage)]; }
  const StageClock& operator[](Stage stage) const { return clocks_[static_cast<size_t>(stage)]; }
  StageTimes Read() const;

 private:
  std::array<StageClock, metrics::kStages.size()> clocks_;
};

}  // namespace emplace
