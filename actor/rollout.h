// Makes trajectories from environments and a policy.
//
// Episodes are played in waves: up to `episodes_in_flight` of them start together with the newest weights, and each
// step makes one forward pass over the states of all episodes that still run. So one version chooses every action of an
// episode, and an environment lives only as long as its episode.
//
// In lockstep the learner says which episodes are in a wave. Episode i of a version is the same, bit for bit, whichever
// actor plays it and whichever other episodes are in its wave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "actor/episode_player.h"
#include "actor/logits_noise.h"
#include "common/rng.h"
#include "common/trajectory.h"
#include "policy/player.h"
#include "policy/policy_kind.h"
#include "policy/policy_weights.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/measure.h"
#include "simulator/environment/placement_env.h"
#include "simulator/environment/simulated_measure.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// The trajectories depend only on the constructor's arguments and the weights at the start of each wave.
class Rollout final : public EpisodePlayer {
 public:
  // Each episode draws from a Fork of `rng`, and has a Measure of its own. REQUIRES: tasks outlive the rollout and are
  // not empty, and all have the same number of devices; episodes_in_flight > 0.
  Rollout(const std::vector<PlacementTask>& tasks, const EnvironmentConfig& environment, int64_t episodes_in_flight,
          const ActorKey& actor, const Rng& rng, MeasureFactory make_measure = MakeSimulatedMeasure,
          LogitsNoise noise = {});

  void SetWeights(std::shared_ptr<const PolicyWeights> weights) override;
  // REQUIRES besides: environment.start is not "best", which depends on earlier episodes; measures are reproducible.
  void StartLockstep(std::span<const uint32_t> indices, uint64_t seed) override;
  bool idle() const override { return wave_.empty(); }
  // Makes one step of every episode in flight. REQUIRES: SetWeights was called.
  std::vector<Trajectory> Advance(size_t most) override;
  std::vector<Trajectory> Advance() { return Advance(episodes_in_flight_); }

  int64_t steps() const { return steps_; }  // Actions chosen so far.

 private:
  struct Episode {
    Episode(const PlacementTask& task, const EnvironmentConfig& environment, const MeasureFactory& make_measure,
            const Rng& own_rng)
        : rng(own_rng), env(task, environment, make_measure) {}
    Rng rng;
    PlacementEnv env;
    std::unique_ptr<PlayedEpisode> played;
    Trajectory trajectory;
  };
  // The best placement seen of a graph, which environment.start: best starts from.
  struct Best {
    double makespan_us = 0;
    std::vector<uint8_t> placement;  // [n] device of each group; empty: none seen yet.
  };

  void StartWave(size_t episodes);
  void UseNewestWeights();
  // The episode of this number in a stream of episodes. `index` is its number for the learner.
  void StartEpisode(const Rng& stream, uint64_t number, uint32_t index);
  void Choose(Episode& episode, std::span<const float> logits);
  // The logits that the episode draws from. Valid until the next call.
  std::span<const float> WithNoise(Episode& episode, std::span<const float> logits);
  Trajectory Finish(Episode& episode);

  const std::vector<PlacementTask>& tasks_;
  const EnvironmentConfig environment_;
  const size_t episodes_in_flight_;
  const ActorKey actor_;
  const Rng rng_;
  const MeasureFactory make_measure_;
  const LogitsNoise noise_;
  std::shared_ptr<const PolicyWeights> weights_;
  std::shared_ptr<const PolicyWeights> played_weights_;  // Those of the wave in flight; nullptr: there was none yet.
  RewardTime reward_time_ = RewardTime::kEachDecision;   // That of these weights, as are the next two.
  std::unique_ptr<Player> player_;
  std::vector<std::unique_ptr<TaskView>> views_;  // [tasks]
  std::vector<std::unique_ptr<Episode>> wave_;    // The episodes that still run.
  std::vector<Best> best_;                        // [tasks]
  uint64_t episodes_started_ = 0;
  int64_t steps_ = 0;
  std::vector<PlayedEpisode*> playing_;  // Scratch memory of Advance, as are the next two.
  Decisions decisions_;
  std::vector<uint8_t> choices_;
  std::vector<float> noisy_;  // Scratch memory of WithNoise.
};

}  // namespace emplace
