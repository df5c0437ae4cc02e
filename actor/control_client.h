// The actor's conversation with the learner, on a thread of its own: it says Hello until a Welcome comes, sends
// heartbeats, fetches weights, and says Goodbye.
//
// A session is one learner process. When the learner is replaced, the actor says Hello again and gets a new
// incarnation; whoever holds the old session may finish with it. The weights are always the newest version of the
// current session.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/threads/mutex.h"
#include "common/wire/keys.h"
#include "common/wire/messages.h"
#include "policy/config/run_config.h"
#include "policy/policy_weights.h"
#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// The content of a Welcome, checked and unpacked.
struct Session {
  ActorKey actor;
  uint64_t id = 0;
  uint64_t first_sequence = 1;
  RunConfig config;
  std::vector<PlacementTask> tasks;  // [GraphId] at least one; all are for the same number of devices.
  std::string trajectories_address;
  // For an actor that measures, else empty:
  Cluster machine;
  std::vector<OpGraph> graphs;  // [GraphId] what the tasks were made from.
};

// Throws BadInput that says what is wrong. Frees each graph's message as soon as it is unpacked.
Session UnpackWelcome(Welcome&& welcome);

class ControlClient {
 public:
  // Why the actor has nothing more to do.
  struct Ending {
    bool failed = false;  // False: the learner said Stop. True: `kind` and `reason` are those of the error.
    Error::Kind kind = Error::Kind::kRunFailed;
    std::string reason;
  };
  struct State {
    std::shared_ptr<const Session> session;        // nullptr: no Welcome has come yet.
    std::shared_ptr<const PolicyWeights> weights;  // nullptr: no weights of this session have come yet.
    std::shared_ptr<const Work> work;              // In lockstep, all episodes to play with these weights, or nullptr.
    bool measuring = false;                        // Whether actors of this run measure on hardware.
    std::optional<Ending> ending;                  // Set once the actor is to end.
  };

  // An actor that replaces another has the same `name`. `patience` is the longest wait for the first Welcome; from then
  // on actor.patience_s of the run's configuration counts. `measures`: as in Hello.
  ControlClient(std::string learner_address, std::string name, std::chrono::milliseconds patience,
                std::optional<ActorKeys> keys = {}, bool measures = false);
  ~ControlClient();  // Says no Goodbye: to the learner, the actor is lost.

  // Any thread may call these.
  State state() const;
  // The state, after waiting for at most `timeout` until it differs from `seen`.
  State WaitForChange(const State& seen, std::chrono::milliseconds timeout);
  // Sets what heartbeats tell the learner: the highest sequence number used, the version that chooses actions now, and
  // for how long measuring windows were open.
  void Report(uint64_t session, uint64_t produced, PolicyVersion version,
              std::chrono::microseconds window_time = std::chrono::microseconds(0));

  // Asks for more episodes, in lockstep: all that the learner gave are played.
  void AskForWork();

  // The oldest placement of the current session that the learner wants measured and that was not returned yet, if any.
  std::optional<MeasureRequest> TakeMeasureRequest();
  void Answer(const MeasureReply& reply);

  // Tells the current learner how many episodes an ended incarnation has produced. Without this, its ledger could not
  // know how many episodes a crashed learner lost.
  void SayGoodbye(const ActorKey& actor, uint64_t produced);
  // Says Goodbye for the last incarnation and ends the thread. REQUIRES: it is called at most once.
  void Leave(const ActorKey& actor, uint64_t produced);

 private:
  struct Progress {
    uint64_t session = 0;
    uint64_t produced = 0;
    PolicyVersion version = 0;
    uint64_t window_us = 0;
  };
  class Conversation;  // The work of the thread; it owns the endpoint.

  void Run(const std::stop_token& stop);
  void Publish(std::shared_ptr<const Session> session);
  void Publish(std::shared_ptr<const PolicyWeights> weights);
  void Publish(std::shared_ptr<const Work> work);
  void PublishMeasuring(bool measuring);
  void Publish(MeasureRequest request);
  bool TakeWorkWanted();
  std::vector<MeasureReply> TakeMeasureReplies();
  void End(Ending ending);
  Progress ReadProgress() const;
  std::pair<std::vector<Goodbye>, bool> TakeGoodbyes();  // The bool says whether they are the last.

  const std::string learner_address_;
  const std::string name_;
  const std::chrono::milliseconds patience_;
  const std::optional<ActorKeys> keys_;
  const bool measures_;

  mutable Mutex mu_;
  CondVar changed_;  // Notified when state_ changes.
  State state_ EMPLACE_GUARDED_BY(mu_);
  Progress progress_ EMPLACE_GUARDED_BY(mu_);
  std::deque<MeasureRequest> measure_requests_ EMPLACE_GUARDED_BY(mu_);  // Of this session.
  std::vector<MeasureReply> measure_replies_ EMPLACE_GUARDED_BY(mu_);    // Those that are not sent yet.
  std::vector<Goodbye> goodbyes_ EMPLACE_GUARDED_BY(mu_);                // Those that are not sent yet.
  bool work_wanted_ EMPLACE_GUARDED_BY(mu_) = false;
  bool leaving_ EMPLACE_GUARDED_BY(mu_) = false;

  std::jthread thread_;  // The last member, so that it stops before the members that it uses are destroyed.
};

}  // namespace emplace
