// Between the front end and the learner: trajectories of sound shape go in, episodes come out in the same order, once
// threads of its own have simulated their ends. So the thread that receives does nothing that takes long, and the
// learner computes while the next episodes are checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/config/run_config.h"
#include "common/mutex.h"
#include "common/trajectory.h"
#include "learner/intake/best_placements.h"
#include "learner/intake/episode.h"
#include "learner/intake/ledger.h"
#include "learner/intake/trajectory_check.h"
#include "learner/stage_clock.h"
#include "simulator/placement_task.h"

namespace emplace {

// Counts it as rejected and says so in the log. Any thread may call it.
void Reject(Ledger& ledger, const Trajectory& trajectory, const std::string& reason);

// Any thread may call any function but Close and the destructor, which are for one.
class CheckedQueue {
 public:
  struct Counts {
    int64_t episodes = 0;  // Found sound so far.
    int64_t steps = 0;
  };
  struct Options {
    size_t capacity = 1;  // Trajectories inside at most, those in the check included.
    size_t threads = 1;   // That check; each has simulators of its own.
  };

  // `clock` counts as busy while all threads check: from then on others wait for them.
  // Shows every sound episode to `placements`. REQUIRES: options > 0; tasks, ledger, placements and clock outlive it.
  CheckedQueue(const std::vector<PlacementTask>& tasks, const EnvironmentConfig& environment, const Options& options,
               Ledger& ledger, BestPlacements& placements, StageClock& clock);
  ~CheckedQueue();

  // False when there is no room or the queue is closed; the trajectory is then untouched.
  // REQUIRES: it has passed CheckShape and been admitted to the ledger.
  bool Push(Trajectory&& trajectory);
  // Whether there is room, after waiting for it for at most `timeout`.
  bool HasRoom(std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) const;

  // The oldest episode, if it is sound, waiting for it for at most `timeout`. nullopt: it is not there yet, or the
  // queue is closed and empty. Throws RunFailed when the check itself has failed. What is not sound is rejected in the
  // ledger.
  std::optional<Episode> Pop(std::chrono::milliseconds timeout);

  // Takes no more; returns when all that is inside has been checked and can be popped. A second call does nothing.
  void Close();

  Counts counts() const;

 private:
  struct Item {
    Episode episode;  // Its trajectory alone, until it is sound.
    bool sound = false;
  };
  using Items = std::list<Item>;  // A thread keeps its item while others come and go.

  void Run(const EnvironmentConfig& environment);
  void CheckAll(TrajectoryChecker& checker);
  void MarkSound(Item& item, const TrajectoryChecker::Outcome& outcome) EMPLACE_REQUIRES(mu_);

  const std::vector<PlacementTask>& tasks_;
  const Options options_;
  Ledger& ledger_;
  BestPlacements& placements_;
  StageClock& clock_;

  mutable Mutex mu_;
  mutable CondVar arrived_;  // There is something to check, or nothing will come.
  mutable CondVar ready_;    // The oldest is sound, or nothing will come.
  mutable CondVar room_;
  Items items_ EMPLACE_GUARDED_BY(mu_);                // Oldest first.
  Items::iterator unchecked_ EMPLACE_GUARDED_BY(mu_);  // The oldest that no thread has taken; end: none.
  bool closed_ EMPLACE_GUARDED_BY(mu_) = false;        // Nothing more comes in,
  bool finished_ EMPLACE_GUARDED_BY(mu_) = false;      // nor out, but for what is sound already.
  Counts counts_ EMPLACE_GUARDED_BY(mu_);
  std::string failure_ EMPLACE_GUARDED_BY(mu_);  // Why a thread ended; empty: none has failed.

  std::vector<std::thread> threads_;  // Last: they use everything above.
};

}  // namespace emplace
