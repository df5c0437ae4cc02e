// The learner's side of the network, on a thread of its own: it welcomes actors, sends them weights, receives
// trajectories, checks their shape, and puts them into the queue that checks their claims. While that queue is full it
// receives no trajectories, so that the actors wait. Every trajectory that is dropped is counted.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/threads/mutex.h"
#include "common/threads/warning_limit.h"
#include "common/trajectory.h"
#include "common/wire/learner_endpoint.h"
#include "common/wire/peer_guard.h"
#include "learner/intake/actor_owners.h"
#include "learner/intake/actor_registry.h"
#include "learner/intake/best_placements.h"
#include "learner/intake/checked_queue.h"
#include "learner/intake/episode.h"
#include "learner/intake/episode_dealer.h"
#include "learner/intake/ledger.h"
#include "learner/intake/measurement_audit.h"
#include "learner/stage_clock.h"
#include "policy/config/run_config.h"
#include "policy/policy_kind.h"
#include "policy/policy_weights.h"
#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct FrontEndStats {
  int64_t episodes = 0;    // Episodes that have passed all checks.
  int64_t steps = 0;       // Steps of these episodes.
  int64_t duplicates = 0;  // Trajectories that came a second time.
  // Messages that cannot be decoded, or speak for actors that have not joined or are of another key.
  int64_t malformed = 0;
  int64_t ignored = 0;  // Messages of peers that send too much or were cut off.
  int64_t cut_off = 0;  // Connections that were cut off.
  int64_t refused = 0;  // Connections without a valid key.
  int64_t actors_alive = 0;
  int64_t actors_gone = 0;  // Actors that ended, or are silent for longer than learner.actor_timeout_s.
  int64_t under_way = 0;    // Episodes that live actors have finished and that have not arrived.
  int64_t owed = 0;         // Episodes that actors have sent before their goodbyes at the end, and that are not here.
  double blocked_s = 0;     // Seconds with a full queue.
  int64_t measuring = 0;    // Live actors that measure on hardware.
  double window_s = 0;      // Seconds for which measuring windows were open, over all actors.
};

// What an actor needs to run the graphs of the tasks.
struct RunnableGraphs {
  const std::vector<OpGraph>& graphs;  // [tasks]
  const Cluster& machine;
};

class FrontEnd {
 public:
  // Opens the ports; throws RunFailed when one is taken. `dealer` is nullptr unless training is in lockstep.
  // `runnable` is what actors that measure get; nullopt: none may join. `measuring` says whether any are here; it may
  // be nullptr. REQUIRES: all that is handed in by reference or pointer outlives the front end.
  FrontEnd(const std::vector<PlacementTask>& tasks, const RunConfig& config, Ledger& ledger, BestPlacements& placements,
           std::shared_ptr<const PolicyWeights> weights, StageClocks& clocks, EpisodeDealer* dealer = nullptr,
           const std::optional<RunnableGraphs>& runnable = {}, std::atomic<bool>* measuring = nullptr);
  ~FrontEnd();

  const std::string& address() const { return address_; }  // The control address, which actors are started with.
  uint64_t session() const { return session_; }

  // Any thread may call the functions below, but Pop is for one thread at a time.
  // Returns the oldest checked episode; waits for at most `timeout`. Throws RunFailed when the thread ended by an
  // error.
  std::optional<Episode> Pop(std::chrono::milliseconds timeout);
  void Publish(std::shared_ptr<const PolicyWeights> weights);
  FrontEndStats stats() const;
  // Tells the actors to stop, waits for at most `timeout` until each has said Goodbye or is gone, and closes the
  // sockets. Episodes that arrive meanwhile count as stale, since no update is left for them. REQUIRES: it is called at
  // most once.
  void Finish(std::chrono::milliseconds timeout);

 private:
  // An actor says Hello again after a second and more. A Welcome has all graphs, which may be megabytes.
  static constexpr PeerGuard::Limits kHelloLimits = {.messages_per_s = 1, .burst = 4};

  void Run(std::promise<std::string> bound);
  Welcome WelcomeToAll() const;
  void MakeWelcomeForMeasuring();
  // Why no actor that measures may join; nullopt: it may.
  std::optional<std::string> WhyNoMeasuring() const;
  void Serve(LearnerEndpoint& endpoint);
  bool WaitForRoom();  // Returns whether the queue has room; waits only for a moment.
  void WaitForMessage(LearnerEndpoint& endpoint);
  void Handle(LearnerEndpoint& endpoint, const FromActor& from);
  void Handle(LearnerEndpoint& endpoint, const FromActor& from, const Hello& hello);
  void Handle(LearnerEndpoint& endpoint, const FromActor& from, const Heartbeat& heartbeat);
  void Handle(LearnerEndpoint& endpoint, const FromActor& from, const WeightsRequest& request);
  void Handle(LearnerEndpoint& endpoint, const FromActor& from, const WorkRequest& request);
  void Handle(LearnerEndpoint& endpoint, const FromActor& from, const Goodbye& goodbye);
  void Handle(LearnerEndpoint& endpoint, const FromActor& from, const MeasureReply& reply);
  bool IsOf(const ActorKey& actor, const std::string& key);
  void RefuseBeyondCapacity(LearnerEndpoint& endpoint, const PeerId& id);
  void Receive(LearnerEndpoint& endpoint, SentTrajectory sent);
  // Why the mark of the rewards, simulated or measured, contradicts what their actor has joined as; nullopt: it does
  // not.
  std::optional<std::string> WhyFalseMark(const Trajectory& trajectory) const;
  bool HoldForAudit(LearnerEndpoint& endpoint, Trajectory& trajectory, const PeerId& sender);
  void PassAudited();
  void AnnounceNewWeights(LearnerEndpoint& endpoint);
  void CheckActors(LearnerEndpoint& endpoint);
  void CheckConnections(std::chrono::steady_clock::time_point now);
  void CountQueuedAsStale();
  std::shared_ptr<const PolicyWeights> weights() const;

  const std::vector<PlacementTask>& tasks_;
  const RunConfig config_;
  const PolicyKind& kind_;
  const std::string config_yaml_;
  const uint64_t session_;
  Ledger& ledger_;
  StageClock& clock_;
  EpisodeDealer* const dealer_;
  const std::optional<RunnableGraphs> runnable_;
  std::atomic<bool>* const measuring_;
  CheckedQueue queue_;
  std::string address_;

  // Used by the front end's thread alone:
  std::string trajectories_address_;
  ActorRegistry registry_;
  ActorOwners owners_;
  PeerGuard hellos_{kHelloLimits};
  PolicyVersion announced_ = 0;
  std::optional<SharedMessage> weights_reply_;      // Serialized once for each version.
  std::optional<SharedMessage> welcome_;            // Serialized once; each actor's key is put in.
  std::optional<SharedMessage> measuring_welcome_;  // The same with the graphs' ops, made when one asks for it.
  MeasurementAudit audit_;
  std::deque<MeasurementAudit::Verdict> audited_;  // Episodes that wait for room in the queue.
  bool warned_of_room_ = false;
  int64_t sound_before_ = 0;        // Sound episodes when CheckActors last looked.
  int64_t strangers_ = 0;           // Messages in the name of actors that have not joined, or that are another key's.
  WarningLimit stranger_warnings_;  // Of these.
  std::chrono::steady_clock::time_point next_actor_check_;  // When CheckActors next does its work.
  std::chrono::steady_clock::time_point next_connection_check_;
  WarningLimit connection_warnings_;
  std::set<ActorKey> left_;  // Actors that have said goodbye since they were told to stop.

  mutable Mutex mu_;
  std::shared_ptr<const PolicyWeights> weights_ EMPLACE_GUARDED_BY(mu_);
  FrontEndStats stats_ EMPLACE_GUARDED_BY(mu_);  // Without episodes and steps, which queue_ counts.
  std::string failure_ EMPLACE_GUARDED_BY(mu_);  // The error that ended the thread; empty: none.

  std::atomic<bool> stopping_ = false;  // Set when the actors are to stop.
  std::atomic<bool> done_ = false;      // Set when the thread is to end.
  std::thread thread_;                  // The last member: it uses everything above.
};

}  // namespace emplace
