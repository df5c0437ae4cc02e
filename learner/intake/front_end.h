// The learner's side of the network, on a thread of its own: welcomes actors, hands out weights, takes trajectories in,
// checks their shape, and queues them for the learner, through the check of what they claim. A full queue pushes back
// on the actors; nothing is dropped in silence.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/config/run_config.h"
#include "common/mutex.h"
#include "common/policy/policy_weights.h"
#include "common/trajectory.h"
#include "common/wire/learner_endpoint.h"
#include "learner/intake/actor_registry.h"
#include "learner/intake/best_placements.h"
#include "learner/intake/checked_queue.h"
#include "learner/intake/episode.h"
#include "learner/intake/episode_dealer.h"
#include "learner/intake/ledger.h"
#include "learner/stage_clock.h"
#include "simulator/placement_task.h"

namespace emplace {

struct FrontEndStats {
  int64_t episodes = 0;  // Sound ones, received and checked so far.
  int64_t steps = 0;
  int64_t duplicates = 0;
  int64_t malformed = 0;  // Undecodable messages, and trajectories of strangers.
  int64_t ignored = 0;    // Messages of peers that send too much, or were cut off.
  int64_t cut_off = 0;    // Connections.
  int64_t refused = 0;    // Connections without a key that is let in.
  int64_t actors_alive = 0;
  int64_t actors_gone = 0;  // Ended, or silent for longer than learner.actor_timeout_s.
  int64_t under_way = 0;    // Episodes that live actors have finished and that are not here: in queues, on the network.
  double blocked_s = 0;     // Time with a full queue.
};

class FrontEnd {
 public:
  // Binds at once; throws RunFailed when the port is taken. `dealer` is for lockstep, else nullptr. REQUIRES: tasks,
  // ledger, placements, clocks and dealer outlive it.
  FrontEnd(const std::vector<PlacementTask>& tasks, const RunConfig& config, Ledger& ledger, BestPlacements& placements,
           std::shared_ptr<const PolicyWeights> weights, StageClocks& clocks, EpisodeDealer* dealer = nullptr);
  ~FrontEnd();

  const std::string& address() const { return address_; }  // Control: what actors are given.
  uint64_t session() const { return session_; }

  // Any thread may call these; episodes are popped by one at a time.
  // The oldest sound episode, waiting up to `timeout`. Throws RunFailed when the thread has ended by an error.
  std::optional<Episode> Pop(std::chrono::milliseconds timeout);
  void Publish(std::shared_ptr<const PolicyWeights> weights);
  FrontEndStats stats() const;
  // Tells the actors to stop and waits up to `timeout` until each has said Goodbye or is gone; what comes in meanwhile
  // counts as stale: there is no update left for it. Then closes the sockets. At most once.
  void Finish(std::chrono::milliseconds timeout);

 private:
  void Run(std::promise<std::string> bound);
  void MakeWelcome();
  void Serve(LearnerEndpoint& endpoint);
  bool WaitForRoom();  // In the queue; false when there is none for now.
  void WaitForMessage(LearnerEndpoint& endpoint);
  void Handle(LearnerEndpoint& endpoint, const FromActor& from);
  void Handle(LearnerEndpoint& endpoint, const PeerId& id, const Hello& hello);
  void Handle(LearnerEndpoint& endpoint, const PeerId& id, const Heartbeat& heartbeat);
  void Handle(LearnerEndpoint& endpoint, const PeerId& id, const WeightsRequest& request);
  void Handle(LearnerEndpoint& endpoint, const PeerId& id, const WorkRequest& request);
  void Handle(LearnerEndpoint& endpoint, const PeerId& id, const Goodbye& goodbye);
  void RefuseBeyondCapacity(LearnerEndpoint& endpoint, const PeerId& id);
  void Receive(LearnerEndpoint& endpoint, SentTrajectory sent);
  void AnnounceNewWeights(LearnerEndpoint& endpoint);
  void CheckActors();
  void CountQueuedAsStale();
  std::shared_ptr<const PolicyWeights> weights() const;

  const std::vector<PlacementTask>& tasks_;
  const RunConfig config_;
  const std::string config_yaml_;
  const uint64_t session_;
  Ledger& ledger_;
  StageClock& clock_;
  EpisodeDealer* const dealer_;
  CheckedQueue queue_;
  std::string address_;

  // Of the front end's thread alone.
  std::string trajectories_address_;
  std::string notices_address_;
  ActorRegistry registry_;
  PolicyVersion announced_ = 0;
  std::optional<SharedMessage> weights_reply_;  // Made once a version.
  std::optional<SharedMessage> welcome_;        // Made once; the actor's key is put in.
  bool warned_of_room_ = false;
  int64_t strangers_ = 0;                                   // Trajectories of actors that nobody knows.
  std::chrono::steady_clock::time_point next_actor_check_;  // After the actors.

  mutable Mutex mu_;
  std::shared_ptr<const PolicyWeights> weights_ EMPLACE_GUARDED_BY(mu_);
  FrontEndStats stats_ EMPLACE_GUARDED_BY(mu_);  // But for what queue_ counts.
  std::string failure_ EMPLACE_GUARDED_BY(mu_);  // Why the thread ended; empty: it has not failed.

  std::atomic<bool> stopping_ = false;  // Tell the actors to stop.
  std::atomic<bool> done_ = false;      // End the thread.
  std::thread thread_;                  // Last: it uses everything above.
};

}  // namespace emplace
