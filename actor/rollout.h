// Environments and a policy -> trajectories. Knows no socket and no thread.
//
// Episodes go in waves: `episodes_in_flight` of them start together with the newest weights, and the states of those
// that still run are batched through one forward pass a step. So one version chooses every action of an episode, and
// an environment lives only as long as its episode.
//
// In lockstep a wave is what the learner says: episode i of a version is the same, bit for bit, whoever plays it and
// beside whichever others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/config/run_config.h"
#include "common/policy/kernel/policy_kernel.h"
#include "common/rng.h"
#include "common/trajectory.h"
#include "simulator/placement_env.h"
#include "simulator/placement_task.h"

namespace emplace {

// Not thread-safe. What it makes depends on its arguments and the weights at the start of each wave alone.
class Rollout {
 public:
  // Each wave draws from Forks of `rng`. REQUIRES: tasks outlive it, there is one at least, and all have the same
  // number of devices; episodes_in_flight > 0.
  Rollout(const std::vector<PlacementTask>& tasks, const EnvironmentConfig& environment, int64_t episodes_in_flight,
          const ActorKey& actor, const Rng& rng);

  // From the next wave on. REQUIRES: the policy is for the tasks' number of devices.
  void SetWeights(std::shared_ptr<const PolicyWeights> weights);

  // Starts a wave of these episodes of the version of the weights, in place of one in flight; `seed` is the run's.
  // REQUIRES: SetWeights was called; 1 to episodes_in_flight episodes; environment.start is not "best", which depends
  // on what was played before.
  void StartLockstep(std::span<const uint32_t> indices, uint64_t seed);

  // Whether no episode is in flight.
  bool idle() const { return wave_.empty(); }

  // One step of every episode in flight, after starting a wave when there is none. Returns the episodes that ended with
  // it, without sequence numbers. REQUIRES: SetWeights was called.
  std::vector<Trajectory> Advance();

  int64_t steps() const { return steps_; }  // Actions chosen so far.

 private:
  struct Episode {
    Episode(const PlacementTask& task, const EnvironmentConfig& environment, const Rng& own_rng)
        : rng(own_rng), env(task, environment) {}
    Rng rng;
    PlacementEnv env;
    size_t slot = 0;  // Its cache, in caches_.
    Trajectory trajectory;
  };
  // The best placement seen on a graph, for environment.start: best.
  struct Best {
    double makespan_us = 0;
    std::vector<uint8_t> placement;  // Empty: none seen.
  };

  void StartWave();
  void UseNewestWeights();
  void StartEpisode(const Rng& own_rng, uint32_t index);
  void ChooseAction(Episode& episode, std::span<const float> logits);
  Trajectory Finish(Episode& episode);

  const std::vector<PlacementTask>& tasks_;
  const EnvironmentConfig environment_;
  const size_t episodes_in_flight_;
  const ActorKey actor_;
  const Rng rng_;
  std::shared_ptr<const PolicyWeights> weights_;
  std::optional<PolicyKernel> kernel_;                   // Of the wave in flight.
  std::shared_ptr<const PolicyWeights> kernel_weights_;  // What kernel_ was made of.
  std::vector<std::unique_ptr<Episode>> wave_;           // Those that still run.
  std::vector<Best> best_;                               // [tasks]
  uint64_t episodes_started_ = 0;
  int64_t steps_ = 0;
  std::vector<EpisodeCache> caches_;         // [episodes in flight]
  std::vector<PolicyState> states_;          // Scratch of Advance.
  std::vector<EpisodeCache*> state_caches_;  // [states_]
  std::vector<float> logits_;                // [states_ * devices], row-major
  std::vector<double> weights_of_devices_;   // [devices]
};

}  // namespace emplace
