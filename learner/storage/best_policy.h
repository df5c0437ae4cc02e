// Which of the evaluated policies is the best: the one that a run ends with.
#pragma once

#include <cstdint>
#include <functional>

#include "learner/evaluation/evaluation_thread.h"
#include "learner/storage/checkpoint_store.h"

namespace emplace {

// Not thread-safe.
class BestPolicy {
 public:
  // Goes on from the best policy that `store` holds, if there is one: its own metadata say how good it is, for it is
  // written before the checkpoint that would. take_last: each policy counts as better than those before it
  // (Workload::takes_last). REQUIRES: store outlives it.
  BestPolicy(const CheckpointStore& store, bool take_last);

  // Writes the policy to the store when it does better on the validation graphs than all before: what does not fit in
  // memory is of no use, however fast it would be, so fewer such placements come first, then the lower mean ratio.
  void Consider(const EvaluationReport& report);

  // Where a run goes on under other conditions (Workload::conditions_hash): what the best policy comes to there.
  // evaluate: on the validation graphs.
  void JudgeAnew(const std::function<EvaluationResult(const PolicyWeights&)>& evaluate);

  // Geometric mean of makespan / one device on the validation graphs; 0: there is no policy yet.
  double ratio() const { return ratio_; }

 private:
  void Write(PolicyWeights policy) const;

  const CheckpointStore& store_;
  const bool take_last_;
  double ratio_ = 0;
  int64_t infeasible_ = 0;  // Its validation placements that do not fit in memory.
};

}  // namespace emplace
