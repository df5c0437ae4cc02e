// The learner's side of the conversation, on a thread, with none of its work: welcomes actors, serves one policy, and
// writes down what it hears.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "common/wire/learner_endpoint.h"

namespace emplace {

struct FakeLearnerOptions {
  uint64_t seed = 1;
  uint64_t session = 1;
  uint32_t actor_id = 4;
  uint32_t incarnation = 1;  // Of the first Hello; each further nonce gets the next.
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
  void Announce(PolicyVersion version) { version_ = version; }  // Published to all, served on request.
  void AnnounceQuietly(PolicyVersion version);                  // Without a notice, as if it were lost.
  void StopActors() { stop_actors_ = true; }

  struct Received {
    std::vector<Hello> hellos;
    std::vector<Heartbeat> heartbeats;
    std::vector<Trajectory> trajectories;
    std::vector<Goodbye> goodbyes;
    int weights_served = 0;
  };
  Received received() const;
  // Whether `condition` came true within 5 s.
  bool Await(const std::function<bool(const Received&)>& condition) const;

 private:
  void Answer(LearnerEndpoint& endpoint, const FromActor& from);

  const FakeLearnerOptions options_;
  std::string address_;
  std::atomic<bool> accept_ = true;
  std::atomic<PolicyVersion> version_ = 0;
  std::atomic<PolicyVersion> noticed_ = 0;
  std::atomic<bool> stop_actors_ = false;
  std::map<uint64_t, uint32_t> incarnation_of_nonce_;  // Of the thread alone.
  bool damaged_ = false;                               // Of the thread alone.
  mutable Mutex mu_;
  Received received_ EMPLACE_GUARDED_BY(mu_);
  std::jthread thread_;
};

}  // namespace emplace
