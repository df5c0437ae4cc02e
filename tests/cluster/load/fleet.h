// All light actors of one process: makes them, lets them send what is due, sets the rate of episodes, and writes
// records.
#pragma once

#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/trajectory.h"
#include "policy/policy_weights.h"
#include "tests/cluster/load/light_actor.h"

namespace emplace::load {

struct FleetOptions {
  std::string learner;        // Address of the learner.
  std::string name = "load";  // Start of each actor's name; its number follows.
  int actors = 250;
  std::optional<ActorKeys> keys;  // nullopt: nothing is encrypted.
  double rate = 125;              // Episodes per second that all actors send together.
  std::string records;            // CSV file: event, version, actor, microseconds of the machine's steady clock.
};

struct FleetTotals {
  int64_t joined = 0;         // Actors that have joined and have weights.
  uint64_t produced = 0;      // Episodes sent.
  int64_t held_back = 0;      // How often an episode was due while the actor's queue was full.
  int64_t weights = 0;        // Number of weights received.
  int64_t weights_bytes = 0;  // Size of the newest weights.
  double join_s = 0;          // Seconds until the last actor had its first weights.
};

// Not thread-safe.
class Fleet : private ActorObserver {
 public:
  explicit Fleet(const FleetOptions& options);
  ~Fleet() override;

  // Runs until the learner says Stop or `interrupted` is set; then sends the queued episodes and says Goodbye. Throws
  // RunFailed when the learner refuses an actor or is replaced.
  FleetTotals Run(const std::atomic<bool>& interrupted);

 private:
  void OnNotice(PolicyVersion version) override;
  void OnWeights(const std::string& actor, const WeightsReply& weights) override;
  void PrepareEpisodes();
  void SendDueEpisodes(Clock::time_point now);
  void SendOne();
  void CountReady();
  void Leave();
  bool ToldToStop() const;

  const FleetOptions options_;
  std::ofstream records_;
  FleetTotals totals_;
  PolicyVersion newest_notice_ = 0;
  std::shared_ptr<const PolicyWeights> weights_;  // The first weights, with which the episodes are played.
  std::vector<Trajectory> episodes_;              // These episodes are sent again and again.
  size_t next_episode_ = 0;
  size_t next_actor_ = 0;
  double due_ = 0;  // Number of episodes that are due.
  Clock::time_point last_due_;
  const Clock::time_point begin_ = Clock::now();
  std::unique_ptr<SharedNetwork> control_;
  std::unique_ptr<SharedNetwork> trajectories_;
  std::vector<std::unique_ptr<LightActor>> actors_;  // Declared after the networks that they use.
};

}  // namespace emplace::load
