// What tests of optimizer steps learn from: small tasks, episodes of a policy, and a step on all of their decisions.
#pragma once

#include <vector>

#include "learner/update/update_engine.h"
#include "policy/policy_weights.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct UpdateLesson {
  explicit UpdateLesson(PolicyWeights policy);

  // The step with this loss. REQUIRES: the loss outlives the result.
  UpdateInputs Inputs(const DecisionLoss& loss, double gradient_clip, double learning_rate) const;

  std::vector<PlacementTask> tasks;
  PolicyWeights weights;
  std::vector<Trajectory> episodes;
  std::vector<Sample> samples;
  std::vector<float> advantages;
  std::vector<float> lags;
};

}  // namespace emplace
