// The receive stage: the learner's side of the network, on a thread of its own. It reads the actors' messages and hands
// each to the part that it is for: to their sessions (actors/actor_sessions.h), to the broadcast of weights
// (actors/weights_broadcast.h), or to the intake of trajectories (intake/trajectory_intake.h). While the intake has no
// room, no trajectories are received, so that the actors wait.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "common/threads/mutex.h"
#include "common/wire/learner_endpoint.h"
#include "learner/actors/actor_sessions.h"
#include "learner/actors/front_end_stats.h"
#include "learner/actors/weights_broadcast.h"
#include "learner/intake/episode.h"
#include "learner/intake/trajectory_intake.h"
#include "learner/stage_clock.h"
#include "policy/config/learner_config.h"

namespace emplace {

class FrontEnd {
 public:
  // Opens the ports; throws RunFailed when one is taken. REQUIRES: all that is handed in by reference, but config,
  // outlives the front end, whose thread alone uses it where it says so.
  FrontEnd(const NetworkConfig& config, ActorSessions& sessions, WeightsBroadcast& weights, TrajectoryIntake& intake,
           StageClocks& clocks);
  ~FrontEnd();

  const std::string& address() const { return address_; }  // The control address, which actors are started with.

  // Any thread may call the functions below, but Pop is for one thread at a time.
  // Returns the oldest checked episode; waits for at most `timeout`. Throws RunFailed when the thread ended by an
  // error.
  std::optional<Episode> Pop(std::chrono::milliseconds timeout);
  FrontEndStats stats() const;
  // Tells the actors to stop, waits for at most `timeout` until each has said Goodbye or is gone, and closes the
  // sockets. Episodes that arrive meanwhile count as stale, since no update is left for them. REQUIRES: it is called at
  // most once.
  void Finish(std::chrono::milliseconds timeout);

 private:
  void Run(const NetworkConfig& config, std::promise<std::string> bound);
  void Serve(LearnerEndpoint& endpoint);
  void ReceiveOne(LearnerEndpoint& endpoint);
  bool WaitForRoom();  // Returns whether the intake has room; waits only for a moment.
  void WaitForMessage(LearnerEndpoint& endpoint);
  // Hands a message of an actor to the part that it is for.
  void Handle(LearnerEndpoint& endpoint, const FromActor& from);
  void CheckActors(LearnerEndpoint& endpoint);
  void TakeStats(const LearnerEndpoint::Counts& counts);
  bool DiscardOne(std::chrono::milliseconds timeout);

  ActorSessions& sessions_;
  WeightsBroadcast& weights_;
  TrajectoryIntake& intake_;
  const StageClocks& clocks_;
  StageClock& clock_;  // Of Stage::kReceive.
  StageClock full_;    // Busy while the queue is full.
  std::string address_;

  // Used by the front end's thread alone:
  std::chrono::steady_clock::time_point next_actor_check_;  // When CheckActors next does its work.

  mutable Mutex mu_;
  FrontEndStats stats_ EMPLACE_GUARDED_BY(mu_);  // Without episodes and steps, which the intake counts, and blocked_s.
  std::string failure_ EMPLACE_GUARDED_BY(mu_);  // The error that ended the thread; empty: none.

  std::atomic<bool> stopping_ = false;  // Set when the actors are to stop.
  std::atomic<bool> done_ = false;      // Set when the thread is to end.
  std::thread thread_;                  // The last member: it uses everything above.
};

}  // namespace emplace
