#include "tests/learner/ranks/rank_lesson.h"

#include "tests/learner/episodes.h"

namespace emplace {

RankLesson::RankLesson() : UpdateLesson(SmallPolicy(3)) {}

UpdateInputs RankLesson::Inputs(const DecisionLoss& loss) const {
  return UpdateLesson::Inputs(loss, /*gradient_clip=*/0.5, /*learning_rate=*/1e-2);
}

RunConfig RankLesson::Config(int64_t ranks, int64_t shards) const {
  RunConfig config;
  config.training.ranks = ranks;
  config.training.shards = shards;
  config.training.device = LearnerDevice::kCpu;
  return config;
}

}  // namespace emplace
