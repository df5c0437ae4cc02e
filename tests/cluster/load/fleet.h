// The light actors of one process: makes them, lets them speak, paces their episodes, and keeps the records.
#pragma once

#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/trajectory.h"
#include "tests/cluster/load/light_actor.h"

namespace emplace::load {

struct FleetOptions {
  std::string learner;        // Address.
  std::string name = "load";  // Of the actors, before their numbers.
  int actors = 250;
  std::optional<ActorKeys> keys;  // nullopt: nothing is encrypted.
  double rate = 125;              // Episodes a second, of all of them.
  std::string records;            // CSV: event, version, actor, microseconds of the machine's steady clock.
};

struct FleetTotals {
  int64_t joined = 0;
  uint64_t produced = 0;
  int64_t held_back = 0;      // Times that an episode was due and the actor's queue was full.
  int64_t weights = 0;        // Replies taken.
  int64_t weights_bytes = 0;  // Of the newest.
  double join_s = 0;          // Until the last had its first weights.
};

// Not thread-safe.
class Fleet : private ActorObserver {
 public:
  explicit Fleet(const FleetOptions& options);
  ~Fleet() override;

  // Until the learner says stop, or `interrupted`; then sends what is queued, and says goodbye. Throws RunFailed when
  // the learner falls silent or refuses.
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
  std::shared_ptr<const PolicyWeights> weights_;  // The first; what the episodes are played with.
  std::vector<Trajectory> episodes_;              // Sound ones, sent again and again.
  size_t next_episode_ = 0;
  size_t next_actor_ = 0;
  double due_ = 0;  // Episodes.
  Clock::time_point last_due_;
  const Clock::time_point begin_ = Clock::now();
  std::unique_ptr<SharedNetwork> control_;
  std::unique_ptr<SharedNetwork> trajectories_;
  std::vector<std::unique_ptr<LightActor>> actors_;  // After their networks.
};

}  // namespace emplace::load
