// What the thread that plays an actor's episodes and the one that talks with the learner (conversation.h) tell each
// other.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actor/session.h"
#include "common/error.h"
#include "common/threads/mutex.h"
#include "common/trajectory.h"
#include "common/wire/messages/messages.h"
#include "policy/policy_weights.h"

namespace emplace {

// What the learner has said so far.
struct ControlState {
  // Why the actor has nothing more to do.
  struct Ending {
    bool failed = false;  // False: the learner said Stop. True: `kind` and `reason` are those of the error.
    Error::Kind kind = Error::Kind::kRunFailed;
    std::string reason;
  };

  std::shared_ptr<const Session> session;        // nullptr: no Welcome has come yet.
  std::shared_ptr<const PolicyWeights> weights;  // nullptr: no weights of this session have come yet.
  std::shared_ptr<const Work> work;              // In lockstep, all episodes to play with these weights, or nullptr.
  bool measuring = false;                        // Whether actors of this run measure on hardware.
  uint64_t sequence_limit = 0;                   // As in Notice.
  std::optional<Ending> ending;                  // Set once the actor is to end.
};

// What heartbeats tell the learner.
struct ActorProgress {
  uint64_t session = 0;
  uint64_t produced = 0;      // The highest sequence number used.
  PolicyVersion version = 0;  // The version that chooses actions now.
  uint64_t window_us = 0;     // For how long measuring windows were open.
};

// Any thread may call any function.
class ControlExchange {
 public:
  // --- For the thread that plays ---
  ControlState state() const;  // The weights are always the newest version of the current session.
  // The state, after waiting for at most `timeout` until it differs from `seen`.
  ControlState WaitForChange(const ControlState& seen, std::chrono::milliseconds timeout);
  void Report(const ActorProgress& progress);  // Sets what heartbeats tell the learner.
  void AskForWork();  // Asks for more episodes, in lockstep: all that the learner gave are played.
  // The oldest placement of the current session that the learner wants measured and that was not returned yet, if any.
  std::optional<MeasureRequest> TakeMeasureRequest();
  void Answer(const MeasureReply& reply);
  // Tells the current learner how many episodes an ended incarnation has produced. Without this, its ledger could not
  // know how many episodes a crashed learner lost.
  void SayGoodbye(const ActorKey& actor, uint64_t produced);
  void Leave();  // Ends the conversation after the goodbyes that were said.

  // --- For the thread that talks with the learner ---
  // A new session has neither weights nor work, and placements to measure for an earlier one are forgotten.
  void Publish(std::shared_ptr<const Session> session);
  void Publish(std::shared_ptr<const PolicyWeights> weights);  // There is no work for them yet.
  void Publish(std::shared_ptr<const Work> work);
  void Publish(const Notice& notice);     // Of this session.
  void Publish(MeasureRequest request);   // Dropped where too many wait.
  void End(ControlState::Ending ending);  // Only the first counts.
  ActorProgress progress() const;
  bool TakeWorkWanted();
  std::vector<MeasureReply> TakeMeasureReplies();
  std::pair<std::vector<Goodbye>, bool> TakeGoodbyes();  // The bool says whether they are the last.

 private:
  mutable Mutex mu_;
  CondVar changed_;  // Notified when state_ changes.
  ControlState state_ EMPLACE_GUARDED_BY(mu_);
  ActorProgress progress_ EMPLACE_GUARDED_BY(mu_);
  std::deque<MeasureRequest> measure_requests_ EMPLACE_GUARDED_BY(mu_);  // Of this session.
  std::vector<MeasureReply> measure_replies_ EMPLACE_GUARDED_BY(mu_);    // Those that are not sent yet.
  std::vector<Goodbye> goodbyes_ EMPLACE_GUARDED_BY(mu_);                // Those that are not sent yet.
  bool work_wanted_ EMPLACE_GUARDED_BY(mu_) = false;
  bool leaving_ EMPLACE_GUARDED_BY(mu_) = false;
};

}  // namespace emplace
