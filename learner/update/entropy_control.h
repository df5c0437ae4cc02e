// How strongly an update rewards entropy: a weight that follows a schedule, or one that is steered so that the policy's
// entropy follows the schedule. A fixed weight that is right for one workload lets the policy of another turn
// deterministic within a hundred updates, or keeps it random for good; where the entropy shall be is the same for all
// of them.
#pragma once

#include "common/config/run_config.h"
#include "common/ids.h"

namespace emplace {

// Not thread-safe.
class EntropyControl {
 public:
  // num_devices: of the workload; the largest entropy of a state is its logarithm.
  EntropyControl(const TrainingConfig& config, int32_t num_devices);

  // Of the entropy bonus, for the update that starts from `version`.
  double Weight(PolicyVersion version) const;
  // What the update that started from `version` found: mean entropy of its states, nats. Moves the steered weight.
  void Observe(PolicyVersion version, double entropy);

  double steered_weight() const { return steered_weight_; }  // For checkpoints.
  void LoadSteeredWeight(double weight) { steered_weight_ = weight; }

 private:
  double Scheduled(PolicyVersion version) const;

  const TrainingConfig config_;
  const double largest_;  // Nats.
  double steered_weight_;
};

}  // namespace emplace
