// What ranks learn from in tests: a small policy, episodes of it, and steps on them.
#pragma once

#include <memory>
#include <vector>

#include "learner/ranks/rank_state.h"
#include "learner/update/update_engine.h"
#include "policy/run_config.h"
#include "simulator/environment/placement_task.h"

namespace emplace {

struct RankLesson {
  RankLesson();

  // The lesson's step with this loss. REQUIRES: the loss outlives the result.
  UpdateInputs Inputs(const DecisionLoss& loss) const;
  RunConfig Config(int64_t ranks, int64_t shards) const;

  std::vector<PlacementTask> tasks;
  PolicyWeights weights;
  std::vector<Trajectory> episodes;
  std::vector<Sample> samples;
  std::vector<float> advantages;
  std::vector<float> lags;
};

}  // namespace emplace
