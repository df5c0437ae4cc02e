// The actor's conversation with the learner, on a thread of its own: Hello until Welcome, heartbeats, weights, the end.
//
// A session is one learner process. When the learner is replaced, the actor says Hello again and gets a new
// incarnation; whoever holds the old session may finish with it. Weights are those of the newest version of the current
// session.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/config/run_config.h"
#include "common/error.h"
#include "common/mutex.h"
#include "common/policy/policy_weights.h"
#include "common/wire/keys.h"
#include "common/wire/messages.h"
#include "simulator/placement_task.h"

namespace emplace {

// What a Welcome brought, checked and unpacked.
struct Session {
  ActorKey actor;
  uint64_t id = 0;
  uint64_t first_sequence = 1;
  RunConfig config;
  std::vector<PlacementTask> tasks;  // Index = GraphId; one at least, all for the same number of devices.
  std::string trajectories_address;
};

// Throws BadInput naming what is wrong. Frees the bundles as it goes.
Session UnpackWelcome(Welcome&& welcome);

class ControlClient {
 public:
  // How things stand. `ending` says that there is nothing more to do.
  struct Ending {
    bool failed = false;  // False: the learner said Stop.
    Error::Kind kind = Error::Kind::kRunFailed;
    std::string reason;
  };
  struct State {
    std::shared_ptr<const Session> session;        // nullptr: not welcomed yet.
    std::shared_ptr<const PolicyWeights> weights;  // nullptr: none of this session yet.
    std::shared_ptr<const Work> work;              // In lockstep: all of it for these weights. nullptr: none yet.
    std::optional<Ending> ending;
  };

  // `name` is stable across restarts of one actor slot. `patience` bounds the wait for the first Welcome; from then on
  // actor.patience_s of the run's configuration does.
  ControlClient(std::string learner_address, std::string name, std::chrono::milliseconds patience,
                std::optional<ActorKeys> keys = {});
  ~ControlClient();  // Without a Goodbye: to the learner, the actor has been lost.

  // Any thread may call these.
  State state() const;
  // Read, after waiting up to `timeout` for something to differ from `seen`.
  State WaitForChange(const State& seen, std::chrono::milliseconds timeout);
  // What heartbeats tell: the highest sequence number used, and the version that chooses actions now.
  void Report(uint64_t session, uint64_t produced, PolicyVersion version);

  // In lockstep: what was given is done.
  void AskForWork();

  // Tells the current learner how far an incarnation came that has ended: its ledger cannot know otherwise what a
  // crashed learner lost.
  void SayGoodbye(const ActorKey& actor, uint64_t produced);
  // The same for the last incarnation; ends the thread. At most once.
  void Leave(const ActorKey& actor, uint64_t produced);

 private:
  struct Progress {
    uint64_t session = 0;
    uint64_t produced = 0;
    PolicyVersion version = 0;
  };
  class Conversation;  // What the thread does; owns the endpoint.

  void Run(const std::stop_token& stop);
  void Publish(std::shared_ptr<const Session> session);
  void Publish(std::shared_ptr<const PolicyWeights> weights);
  void Publish(std::shared_ptr<const Work> work);
  bool TakeWorkWanted();
  void End(Ending ending);
  Progress ReadProgress() const;
  std::pair<std::vector<Goodbye>, bool> TakeGoodbyes();  // And whether they are the last.

  const std::string learner_address_;
  const std::string name_;
  const std::chrono::milliseconds patience_;
  const std::optional<ActorKeys> keys_;

  mutable Mutex mu_;
  CondVar changed_;  // state_ did.
  State state_ EMPLACE_GUARDED_BY(mu_);
  Progress progress_ EMPLACE_GUARDED_BY(mu_);
  std::vector<Goodbye> goodbyes_ EMPLACE_GUARDED_BY(mu_);  // Not said yet.
  bool work_wanted_ EMPLACE_GUARDED_BY(mu_) = false;
  bool leaving_ EMPLACE_GUARDED_BY(mu_) = false;

  std::jthread thread_;  // Last: stops before what it uses goes.
};

}  // namespace emplace
