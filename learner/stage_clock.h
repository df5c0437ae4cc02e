// How the stages of the learner's pipeline spend their time. At any moment a stage either works, or waits for input or
// for room for its output. The stage that works nearly all the time is the one for which all others wait.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

#include "common/metrics_keys.h"
#include "common/threads/mutex.h"

namespace emplace {

// An index into metrics::kStages.
enum class Stage { kReceive, kCheck, kBatch, kUpdate, kPublish, kEvaluate };
inline const char* NameOf(Stage stage) { return metrics::kStages[static_cast<size_t>(stage)]; }

struct StageSeconds {
  double busy = 0;
  double waiting = 0;
};
StageSeconds operator-(const StageSeconds& later, const StageSeconds& earlier);

// Divides the time since its construction into busy and waiting seconds of one stage. At first the stage waits. Any
// thread may call any function. A stage with one thread calls Busy and Waiting. A stage with several threads calls
// Begin and End around each piece of work, and counts as busy while all its threads work, since others then wait for
// it.
class StageClock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit StageClock(Time (*now)() = &std::chrono::steady_clock::now) : now_(now), last_(now()), since_(last_) {}

  // The stage works, or waits, from now on. A repeated call of Busy says that the stage makes progress.
  void Busy() { Set(1); }
  void Waiting() { Set(0); }

  // Sets the number of the stage's threads. REQUIRES: none of them has begun.
  void SetThreads(int threads);
  void Begin() { Add(1); }
  void End() { Add(-1); }

  // Busy and waiting seconds up to now.
  StageSeconds seconds() const;

  // Seconds since the last call of a function above, while the stage works; nullopt: the stage waits. A thread hangs
  // when these are many.
  std::optional<double> silent_s() const;

 private:
  void Set(int working);
  void Add(int working);
  void Change(int working) EMPLACE_REQUIRES(mu_);
  StageSeconds SecondsAt(Time now) const EMPLACE_REQUIRES(mu_);

  Time (*const now_)();
  mutable Mutex mu_;
  int threads_ EMPLACE_GUARDED_BY(mu_) = 1;
  int working_ EMPLACE_GUARDED_BY(mu_) = 0;  // Threads that work now.
  bool busy_ EMPLACE_GUARDED_BY(mu_) = false;
  Time last_ EMPLACE_GUARDED_BY(mu_);            // When the stage last showed a sign.
  Time since_ EMPLACE_GUARDED_BY(mu_);           // When the stage last changed between busy and waiting.
  StageSeconds before_ EMPLACE_GUARDED_BY(mu_);  // Busy and waiting seconds before since_.
};

// Marks a piece of work of one of a stage's threads: calls Begin when constructed and End when destroyed.
class StageWork {
 public:
  explicit StageWork(StageClock& clock) : clock_(clock) { clock_.Begin(); }
  ~StageWork() { clock_.End(); }
  StageWork(const StageWork&) = delete;
  StageWork& operator=(const StageWork&) = delete;

 private:
  StageClock& clock_;
};

// Busy and waiting seconds of every stage.
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
