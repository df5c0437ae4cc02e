// What an optimizer step is made from, as the arrays of a RankData: rank 0 sends it to the others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/trajectory.h"
#include "common/wire/array_bundle.h"
#include "learner/update/update_engine.h"
#include "policy/policy_kind.h"
#include "simulator/environment/placement_task.h"

namespace emplace {

// values: the weights from which the step starts.
ArrayBundle ToBundle(const UpdateInputs& inputs, std::span<const float> values);

// A hash by which ranks find out whether their weights have the same bits.
uint64_t HashOfValues(std::span<const float> values);

// A step that has come from rank 0, with what its UpdateInputs refer to.
class ReceivedStep {
 public:
  // Checks everything that came from the network. Throws BadInput where it is no step on these tasks of a policy of
  // this kind.
  ReceivedStep(const ArrayBundle& bundle, const std::vector<PlacementTask>& tasks, const PolicyKind& kind);

  UpdateInputs inputs() const;
  uint64_t values_hash() const { return values_hash_; }

 private:
  void ReadEpisodes(const ArrayBundle& bundle, const std::vector<PlacementTask>& tasks, const PolicyKind& kind);
  void ReadSamples(const ArrayBundle& bundle, const PolicyKind& kind);

  std::vector<Trajectory> episodes_;  // Without rewards, which no model needs.
  std::vector<Sample> samples_;
  std::vector<float> advantages_;
  std::vector<float> lags_;
  std::unique_ptr<DecisionLoss> loss_;
  double gradient_clip_ = 0;
  double learning_rate_ = 0;
  uint64_t values_hash_ = 0;
};

}  // namespace emplace
