// What the thread that plays does in one session with the learner: its rollouts, numbered, up to the learner's limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "actor/control_exchange.h"
#include "actor/episode_player.h"
#include "actor/session.h"
#include "actor/trajectory_sender.h"
#include "common/threads/pausing_work.h"
#include "common/trajectory.h"
#include "simulator/environment/measure.h"

namespace emplace {

// The sequence number up to which the learner wants episodes (Notice::sequence_limit). What the learner waits for may
// be lost with a connection, so an actor keeps to a limit that it has reached for 5 s, and twice as long each time that
// the limit has not moved since.
class SequenceLimit {
 public:
  // Whether no episode is to start before the learner raises the limit. limit: 0 is none. idle: nothing is in flight.
  bool MustWait(uint64_t limit, uint64_t produced, bool idle);

 private:
  static constexpr std::chrono::milliseconds kPatience{5000};
  uint64_t limit_ = 0;                                               // The latest that was asked about.
  std::optional<std::chrono::steady_clock::time_point> reached_at_;  // When it was reached; nullopt: it is not.
  std::chrono::milliseconds patience_ = kPatience;
};

// The rollouts of one session. Sequence numbers are given as trajectories enter the send queue, so what an interrupt
// leaves unfinished was never produced. Not thread-safe.
class SessionRollouts {
 public:
  SessionRollouts(std::shared_ptr<const Session> session, const MeasureFactory& make_measure);

  const std::shared_ptr<const Session>& session() const { return session_; }
  uint64_t produced() const { return next_sequence_ - 1; }

  bool lockstep() const { return session_->config.training.lockstep(); }

  // In lockstep: goes on with what the learner gave to play, or starts it. False when all of it is done, and sent.
  bool StartOrContinueWork(const ControlState& state);

  // Measures a placement that the learner asks about; nullopt: there is no such placement of these tasks.
  std::optional<double> MeasureFor(const MeasureRequest& request) const;

  // Whether no episode is to start before the learner raises the limit.
  bool MustWait(uint64_t sequence_limit) {
    return limit_.MustWait(sequence_limit, produced(), player_->idle() && finished_.empty());
  }

  // One step, unless finished trajectories still wait for room in the queue; they wait for it for at most `patience`.
  // The step is a unit of `work`, the wait is none.
  void Advance(const ControlState& state, TrajectorySender& sender, PausingWork& work,
               std::chrono::milliseconds patience);

 private:
  size_t MostToStart(uint64_t sequence_limit) const;

  std::shared_ptr<const Session> session_;
  const MeasureFactory make_measure_;
  uint64_t next_sequence_;
  const std::unique_ptr<EpisodePlayer> player_;
  std::optional<PolicyVersion> version_;  // In lockstep: whose episodes are played,
  size_t taken_ = 0;                      // and how many of those given have been started.
  std::deque<Trajectory> finished_;       // Not in the queue yet.
  SequenceLimit limit_;
};

}  // namespace emplace
