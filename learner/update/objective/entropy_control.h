// The weight of the entropy bonus in each update. Either the weight follows a schedule, or it is adjusted so that the
// policy's entropy follows the schedule. A weight that is right for one workload makes the policy of another
// deterministic within a hundred updates, or keeps it random for ever; a schedule of the entropy itself suits all
// workloads.
#pragma once

#include "common/ids.h"
#include "policy/config/run_config.h"

namespace emplace {

// Not thread-safe.
class EntropyControl {
 public:
  // The logarithm of `most_choices` is the largest entropy of a decision.
  EntropyControl(const TrainingConfig& config, int32_t most_choices);

  // The weight for the update that starts from `version`.
  double Weight(PolicyVersion version) const;
  // Adjusts the weight after the update that started from `version`. `entropy` is the mean over its states, in nats.
  void Observe(PolicyVersion version, double entropy);

  double steered_weight() const { return steered_weight_; }  // For checkpoints.
  void LoadSteeredWeight(double weight) { steered_weight_ = weight; }

 private:
  double Scheduled(PolicyVersion version) const;

  const TrainingConfig config_;
  const double largest_;  // Largest entropy of a state, in nats.
  double steered_weight_;
};

}  // namespace emplace
