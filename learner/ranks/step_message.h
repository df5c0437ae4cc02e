// What an optimizer step is made from, as the arrays of a RankData: rank 0 sends it to the others. An array that is the
// same as in the step before is left out, so that a batch is sent once for all epochs of an update.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/array_bundle.h"
#include "common/trajectory.h"
#include "learner/update/update_engine.h"
#include "policy/policy_kind.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// values: the weights from which the step starts.
ArrayBundle ToBundle(const UpdateInputs& inputs, std::span<const float> values);

// Those of a step's arrays that are not as they were in the step before (of which the first one has none), and the hash
// of the weights in any case.
ArrayBundle ChangedArrays(const ArrayBundle& before, const ArrayBundle& step);
// Makes the arrays of the step before those of this step. Throws BadInput for an array that no step has.
void TakeChanges(ArrayBundle changed, ArrayBundle& step);

// A hash by which ranks find out whether their weights have the same bits.
uint64_t HashOfValues(std::span<const float> values);

// A step that has come from rank 0, with what its UpdateInputs refer to.
class ReceivedStep {
 public:
  // Checks everything that came from the network. Throws BadInput where it is no step on these tasks of a policy of
  // this kind. bundle: all arrays of the step, after TakeChanges.
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
