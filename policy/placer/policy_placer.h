// Places a graph with a trained policy. `emplace place` and the learner's evaluation use this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/rng.h"
#include "common/threads/stop.h"
#include "policy/player.h"
#include "policy/policy_weights.h"
#include "simulator/environment/environment_config.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct PlacerOptions {
  int32_t samples = 0;           // Number of sampled episodes beside the greedy one; the best result counts.
  Start start = Start::kRandom;  // As environment.start; a random one is drawn from `seed`.
  uint64_t seed = 1;
  int64_t budget = 1;  // Of a policy that plans: placements that it may simulate for each graph; 1: a single pass.
  StopSignal stop = {};
};

// The start placement with which the policy was trained, PlacerOptions::start of a policy that does not say.
// Throws BadInput for a start that there is not.
Start StartOfEpisodes(const PolicyWeights& policy);

// Episode e of a placement draws from PlacerRng(...).Fork("episode", e); the first is the greedy one.
Rng PlacerRng(const PlacementTask& task, const PlacerOptions& options);

struct PlacerResult {
  std::vector<uint8_t> groups;      // [n] device of each group
  double makespan_us = 0;           // Simulated makespan.
  std::vector<int64_t> peak_bytes;  // [D]
  bool feasible = true;             // Whether every device's peak fits its memory. A feasible result beats any other.
  int64_t evaluations = 0;          // Number of simulator runs.
};

// Throws BadInput when the policy is for another number of devices than the task has, and when its weights are so large
// that logits overflow; Stopped where it is stopped before it has a result. Otherwise it then returns the best so far.
PlacerResult PlaceWithPolicy(Player& player, const PlacementTask& task, const PlacerOptions& options);

}  // namespace emplace
