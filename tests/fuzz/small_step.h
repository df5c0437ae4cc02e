// What a step between ranks is made from, small, for the target that reads it and for its first inputs.
#pragma once

#include <memory>
#include <vector>

#include "common/array_bundle.h"
#include "learner/update/objective/decision_loss.h"
#include "learner/update/update_engine.h"
#include "policy/policy_weights.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// A policy of Placeto as narrow as a network can be: a few hundred parameters.
PolicyWeights NarrowPolicy(bool memory_feature = false);

// A step of PPO on two episodes of each task.
class SmallStep {
 public:
  explicit SmallStep(const std::vector<PlacementTask>& tasks);

  // All arrays with which the step travels; values: the weights before it.
  ArrayBundle ToArrays(const std::vector<float>& values) const;
  // Makes it the same step in a later epoch.
  void GoOn();

 private:
  std::vector<Trajectory> episodes_;
  std::vector<Sample> samples_;
  std::vector<float> advantages_;
  std::vector<float> lags_;
  std::unique_ptr<DecisionLoss> loss_;
};

}  // namespace emplace
