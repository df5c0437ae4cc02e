// Takes trajectories in: decides which of those that arrive are admitted, checks their shape, and puts them into the
// queue that checks their claims. Some with measured rewards are held back until another actor has measured them again.
// Every trajectory that is dropped is counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "common/trajectory.h"
#include "common/wire/learner_endpoint.h"
#include "learner/actors/actor_sessions.h"
#include "learner/intake/checked_queue.h"
#include "learner/intake/episode.h"
#include "learner/intake/episode_rules.h"
#include "learner/intake/measurement_audit.h"
#include "learner/ledger.h"
#include "learner/stage_clock.h"
#include "policy/config/run_config.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Belongs to the front end's thread, except what says that any thread may call it.
class TrajectoryIntake {
 public:
  // tasks: of the episodes. `check_clock` is the one of Stage::kCheck. REQUIRES: all that is handed in by reference,
  // but config, outlives the intake.
  TrajectoryIntake(const EpisodeRules& rules, const std::vector<PlacementTask>& tasks, const RunConfig& config,
                   Ledger& ledger, ActorSessions& sessions, StageClock& check_clock);

  // Returns whether there is room for one more; waits for it for at most `timeout`.
  bool HasRoom(std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) const {
    return queue_.HasRoom(timeout);
  }
  // Takes one in, or rejects and counts it. announced: the newest version that actors were told of. REQUIRES: HasRoom
  // was true since the last call.
  void Receive(LearnerEndpoint& endpoint, SentTrajectory sent, PolicyVersion announced);
  // Takes in what an actor has measured again.
  void Answer(const MeasureReply& reply) { audit_.Answer(reply); }
  // Passes on the episodes that need not be held back any longer, as far as there is room.
  void PassAudited();
  // From now on nothing is held back, since no update is left that could wait for it.
  void StopHolding() { stopping_ = true; }

  // Whether episodes have passed their checks since the last call, or none could, for lack of room.
  bool MadeProgress();
  // Counts false episodes that were found since the last call against the connections that they came from.
  void AccuseSenders(LearnerEndpoint& endpoint);
  int64_t duplicates() const { return duplicates_; }  // Trajectories that came a second time.

  // Any thread may call the functions below, but Pop and the functions after it are for one thread.
  CheckedQueue::Counts counts() const { return queue_.counts(); }
  // Returns the oldest checked episode; waits for at most `timeout`. nullopt: there is none yet, or Close was called
  // and none is left. Throws RunFailed when a check has failed.
  std::optional<Episode> Pop(std::chrono::milliseconds timeout) { return queue_.Pop(timeout); }
  void Close() { queue_.Close(); }  // No trajectory comes in any more. A second call does nothing.
  void CountStale(const Trajectory& trajectory) { ledger_.CountStale(trajectory.actor); }
  // Counts as stale what is held back. REQUIRES: the front end's thread has ended.
  void CountHeldAsStale();

 private:
  // Why the mark of the rewards, simulated or measured, contradicts what their actor has joined as; nullopt: it does
  // not.
  std::optional<std::string> WhyFalseMark(const Trajectory& trajectory) const;
  bool HoldForAudit(LearnerEndpoint& endpoint, Trajectory& trajectory, const PeerId& sender);

  const EpisodeRules& rules_;
  const PolicyVersion last_version_;  // That training can reach.
  Ledger& ledger_;
  ActorSessions& sessions_;
  CheckedQueue queue_;
  MeasurementAudit audit_;
  std::deque<MeasurementAudit::Verdict> audited_;  // Episodes that wait for room in the queue.
  bool stopping_ = false;
  int64_t sound_before_ = 0;  // Sound episodes when MadeProgress last looked.
  int64_t duplicates_ = 0;
};

}  // namespace emplace
