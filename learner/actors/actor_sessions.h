// The actors' sessions with this learner process: who may join and is welcomed, who is alive, who speaks for whom, and
// who has left. Handles the control messages Hello, Heartbeat, WorkRequest and Goodbye.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/threads/warning_limit.h"
#include "common/trajectory.h"
#include "common/wire/access/peer_guard.h"
#include "common/wire/learner_endpoint.h"
#include "learner/actors/actor_owners.h"
#include "learner/actors/actor_registry.h"
#include "learner/actors/connection_limit.h"
#include "learner/actors/episode_dealer.h"
#include "learner/actors/run_ahead.h"
#include "learner/actors/welcome_messages.h"
#include "learner/ledger.h"
#include "policy/config/run_config.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Belongs to the front end's thread, except what says that any thread may call it.
class ActorSessions {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // What only some runs have. All that is pointed or referred to outlives the sessions.
  struct Extras {
    EpisodeDealer* dealer = nullptr;              // In lockstep: deals the actors their work.
    std::optional<RunnableGraphs> runnable = {};  // What actors that measure get; nullopt: none may join.
    std::atomic<bool>* measuring = nullptr;       // Says whether any actor that measures is here.
  };

  struct Counts {
    int64_t alive = 0;
    int64_t gone = 0;       // Actors that ended, or are silent for longer than learner.actor_timeout_s.
    int64_t under_way = 0;  // Episodes that live actors have finished and that have not arrived.
    int64_t owed = 0;       // Episodes that actors have sent before their goodbyes at the end, and that are not here.
    int64_t measuring = 0;  // Live actors that measure on hardware.
    bool any_measured = false;  // Whether an actor that measures on hardware has ever joined.
    double window_s = 0;        // Seconds for which measuring windows were open, over all actors,
    double measuring_s = 0;     // of those since each has joined.
  };

  // REQUIRES: tasks and ledger outlive the sessions.
  ActorSessions(const std::vector<PlacementTask>& tasks, const RunConfig& config, Ledger& ledger, const Extras& extras);

  // Any thread may call these two.
  uint64_t session() const { return session_; }                      // A random number of this learner process.
  const std::atomic<bool>* measuring() const { return measuring_; }  // As in Extras.

  // Sets where the actors that join from now on send trajectories. Call it once, before any message is handled.
  void SetTrajectoriesAddress(const std::string& address) { welcomes_.SetTrajectoriesAddress(address); }

  void Handle(LearnerEndpoint& endpoint, const FromActor& from, const Hello& hello);
  void Handle(LearnerEndpoint& endpoint, const FromActor& from, const Heartbeat& heartbeat);
  void Handle(LearnerEndpoint& endpoint, const FromActor& from, const WorkRequest& request);
  void Handle(const FromActor& from, const Goodbye& goodbye);

  // Whether a message that came with this key may speak for the actor. One that may not is counted as a stranger's.
  bool MaySpeakFor(const ActorKey& actor, const std::string& key);
  // Counts a message in the name of an actor that has not joined, or of another key's actor, and logs the warning,
  // unless much was logged of late.
  void CountStranger(const std::string& warning);
  int64_t strangers() const { return strangers_; }  // Messages counted so.

  const ActorRegistry& registry() const { return registry_; }
  // The highest sequence number that the actor is to use for now (run_ahead.h); 0: no limit.
  uint64_t SequenceLimit(const ActorKey& actor) const;
  // Whether an actor's limit has moved with its episode of this number.
  bool MovesLimit(uint64_t sequence) const;
  // Why no actor that measures may join; nullopt: it may.
  std::optional<std::string> WhyNoMeasuring() const { return welcomes_.WhyNoMeasuring(); }

  // Tells all actors to stop, and from now on each that is heard.
  void TellToStop(LearnerEndpoint& endpoint);
  // Looks for silent actors, and counts anew. progress: episodes have passed their checks since the last call, or none
  // could. Throws RunFailed when there has been no progress for learner.watchdog_s. Call it often.
  void Check(bool progress, Time now);
  const Counts& counts() const { return counts_; }  // As of the last Check.

 private:
  // An actor says Hello again after a second and more. A Welcome has all graphs, which may be megabytes.
  static constexpr PeerGuard::Limits kHelloLimits = {.messages_per_s = 1, .burst = 4};

  // Why the actor may not join; nullopt: it may.
  std::optional<std::string> WhyRefused(const Hello& hello, const std::string& key);
  void CountActors();
  RunAhead run_ahead() const { return RunAheadOfEach(config_, registry_.alive()); }

  const uint64_t session_;
  const RunConfig config_;
  Ledger& ledger_;
  EpisodeDealer* const dealer_;
  std::atomic<bool>* const measuring_;
  WelcomeMessages welcomes_;
  ActorRegistry registry_;
  ActorOwners owners_;
  ConnectionLimit connections_;
  PeerGuard hellos_{kHelloLimits};
  int64_t strangers_ = 0;
  WarningLimit stranger_warnings_;
  bool stopping_ = false;
  std::set<ActorKey> left_;  // Actors that have said goodbye since they were told to stop.
  Counts counts_;
};

}  // namespace emplace
