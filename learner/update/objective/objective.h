// An objective: what an update learns from its batch, and the loss by which it learns. It is apart from the model,
// which gives it logits, and from the optimizer. It owns all that it remembers from update to update.
#pragma once

#include <span>
#include <vector>

#include "common/files/safetensors.h"
#include "common/ids.h"
#include "common/trajectory.h"
#include "learner/update/objective/decision_loss.h"
#include "policy/model.h"

namespace emplace {

// What one update learns from. S is the number of decisions of all samples together.
struct Lesson {
  std::span<const Trajectory> episodes;  // The batch, perhaps followed by others. Valid until the next Prepare.
  std::vector<Sample> samples;           // Those of one graph are together, by decision.
  std::vector<float> advantages;         // [S] of the samples' decisions
  std::vector<float> lags;               // [S] as in DecisionBatch, for the first optimizer step
  // [S] For the steps after it: by then another policy than the one at hand has acted in all of the batch.
  std::vector<float> later_lags;
  double advantage_std = 0;   // Standard deviation of the advantages before normalization.
  double entropy_weight = 0;  // Weight of the entropy bonus.
};

// Not thread-safe.
class LearningObjective {
 public:
  virtual ~LearningObjective() = default;

  // Makes the lesson of the update that starts from `version`. REQUIRES: each episode of the batch has passed
  // CheckShape; the batch outlives the lesson.
  virtual const Lesson& Prepare(const std::vector<Trajectory>& batch, PolicyVersion version) = 0;
  // The loss of the lesson prepared last. Valid until the next Prepare.
  virtual const DecisionLoss& loss() const = 0;
  // Takes note of the policy's mean entropy, in nats, over the lesson of the update that started from `version`.
  virtual void Observe(PolicyVersion version, double entropy) = 0;

  // For checkpoints: everything that the next lessons depend on. Tensor names are the objective's own.
  virtual SafetensorsFile Save() const = 0;
  // Throws BadInput when something is missing or does not fit the graphs; the objective is of no use then.
  virtual void Load(const SafetensorsFile& state) = 0;
  virtual void ForgetBest() {}  // As Updater::ForgetBest.
};

}  // namespace emplace
