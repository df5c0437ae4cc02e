// Which of the evaluated policies is the best: the one that a run ends with.
#pragma once

#include <cstdint>

#include "learner/checkpoint.h"
#include "learner/evaluation/evaluation_thread.h"

namespace emplace {

// Not thread-safe.
class BestPolicy {
 public:
  // `ratio`: of the best so far, which `store` holds; 0: there is none yet. REQUIRES: store outlives it.
  BestPolicy(const CheckpointStore& store, double ratio);

  // Writes it to the store when it does better on the validation graphs than all before: what does not fit in memory is
  // of no use, however fast it would be, so fewer such placements come first, then the lower mean ratio.
  void Consider(const EvaluationReport& report);

  double ratio() const {
    return ratio_;
  }  // Geometric mean of makespan / one device on the validation graphs; 0: none yet.

 private:
  const CheckpointStore& store_;
  double ratio_;
  int64_t infeasible_ = 0;  // Its validation placements that do not fit in memory.
};

}  // namespace emplace
