// A learner for tests of the actor, on a thread: it welcomes actors, serves one policy, and records what it receives.
// It trains nothing.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/threads/mutex.h"
#include "common/wire/learner_endpoint.h"

namespace emplace {

struct FakeLearnerOptions {
  uint64_t seed = 1;
  uint64_t session = 1;
  uint32_t actor_id = 4;
  uint32_t incarnation = 1;  // Incarnation of the first Hello; each further nonce gets the next one.
  uint64_t first_sequence = 1;
  int port = 0;
  std::string config_yaml;
  std::optional<std::string> refusal;
  bool damage_first_weights = false;
  bool damage_tasks = false;
};

class FakeLearner {
 public:
  explicit FakeLearner(FakeLearnerOptions options);
  ~FakeLearner();

  std::string address() const { return address_; }
  int port() const;

  void AcceptTrajectories(bool accept) { accept_ = accept; }
  void Announce(PolicyVersion version) {
    version_ = version;
  }                                             // Sends a notice to all actors; weights are served on request.
  void AnnounceQuietly(PolicyVersion version);  // Sends no notice, as if it were lost.
  void LimitActors(uint64_t sequence) { sequence_limit_ = sequence; }  // Sends a notice to all actors.
  void StopActors() { stop_actors_ = true; }

  struct Received {
    std::vector<Hello> hellos;
    std::vector<Heartbeat> heartbeats;
    std::vector<Trajectory> trajectories;
    std::vector<Goodbye> goodbyes;
    int weights_served = 0;
  };
  Received received() const;
  // Waits for at most 5 s. Returns whether `condition` came true.
  bool Await(const std::function<bool(const Received&)>& condition) const;

 private:
  Notice MakeNotice() const;
  void Answer(LearnerEndpoint& endpoint, const FromActor& from);

  const FakeLearnerOptions options_;
  std::string address_;
  std::atomic<bool> accept_ = true;
  std::atomic<PolicyVersion> version_ = 0;
  std::atomic<PolicyVersion> noticed_ = 0;
  std::atomic<uint64_t> sequence_limit_ = 0;
  uint64_t noticed_limit_ = 0;  // Used by the thread alone.
  std::atomic<bool> stop_actors_ = false;
  std::map<uint64_t, uint32_t> incarnation_of_nonce_;  // Used by the thread alone.
  bool damaged_ = false;                               // Used by the thread alone.
  std::set<PeerId> peers_;                             // Welcomed; used by the thread alone.
  mutable Mutex mu_;
  Received received_ EMPLACE_GUARDED_BY(mu_);
  std::jthread thread_;
};

}  // namespace emplace
