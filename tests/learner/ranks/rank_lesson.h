// What ranks learn from in tests: a small policy, and configurations of runs with ranks.
#pragma once

#include "policy/config/run_config.h"
#include "tests/learner/update/update_lesson.h"

namespace emplace {

struct RankLesson : UpdateLesson {
  RankLesson();

  // The lesson's step with this loss. REQUIRES: the loss outlives the result.
  UpdateInputs Inputs(const DecisionLoss& loss) const;
  RunConfig Config(int64_t ranks, int64_t shards) const;
};

}  // namespace emplace
