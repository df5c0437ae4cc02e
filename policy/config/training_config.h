// Section `training` of a run's configuration: what the learner makes of episodes.
#pragma once

#include <cstdint>

#include "common/config/field_table.h"

namespace emplace {

// How actors and learner go together.
enum class Sync {
  kAsync,     // Actors go on while the learner computes.
  kLockstep,  // Each update uses only episodes of its own version, so that a seed gives the same policy bit for bit.
};
// What an update minimizes, by the gradient (policy_gradient.h in learner/update/objective); or kEvolution: it moves
// the policy to where candidates drawn from it were better than others (learner/update/evolution).
enum class TrainingObjective { kReinforce, kPpo, kEvolution };
// What an episode's returns are compared with: recent episodes on the graph, or those of the batch with the same start.
enum class BaselineKind { kGraph, kBatch };
// What advantages are divided by: nothing, their spread over the batch, or the size of their graph's recent ones.
enum class AdvantageUnit { kNone, kBatch, kGraph };
// What entropy_start and entropy_end are: weights of the bonus, or shares of the largest entropy to steer to.
enum class EntropyGoal { kWeight, kTarget };
// Where the learner computes; kAuto: on a GPU if there is one.
enum class LearnerDevice { kAuto, kCpu, kCuda };

struct TrainingConfig {
  Sync sync = Sync::kAsync;
  bool lockstep() const { return sync == Sync::kLockstep; }
  int64_t iterations = 1000;
  double max_minutes = 0;
  TrainingObjective objective = TrainingObjective::kReinforce;
  bool evolves() const { return objective == TrainingObjective::kEvolution; }
  int64_t episodes_per_update = 16;
  int64_t max_states_per_update = 512;
  double discount = 1;
  BaselineKind baseline = BaselineKind::kGraph;
  int64_t baseline_window = 20;
  int64_t epochs = 1;
  AdvantageUnit normalize_advantages = AdvantageUnit::kBatch;
  int64_t imitated_episodes = 0;
  double imitation_weight = 1;
  EntropyGoal entropy = EntropyGoal::kWeight;
  double entropy_start = 0.05;
  double entropy_end = 0.001;
  int64_t entropy_decay_updates = 150;
  double logits_noise = 0;
  int64_t logits_noise_decay_updates = 750;
  double learning_rate = 1e-3;
  double learning_rate_end = 1e-4;
  int64_t learning_rate_decay_updates = 1000;
  double gradient_clip = 1.25;
  int64_t max_lag = 8;
  double importance_clip = 2.0;
  double proximal_clip = 0.2;
  int64_t ranks = 1;
  int64_t shards = 1;  // In a file that does not give it: as many as ranks.
  LearnerDevice device = LearnerDevice::kAuto;
};

FieldTable<TrainingConfig> TrainingFields();

}  // namespace emplace
