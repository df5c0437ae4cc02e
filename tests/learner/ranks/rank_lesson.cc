#include "tests/learner/ranks/rank_lesson.h"

#include "common/rng.h"
#include "tests/learner/episodes.h"

namespace emplace {

RankLesson::RankLesson() : tasks(TwoDeviceTasks(1, 4)), weights(SmallPolicy(3)) {
  Rng rng(3);
  episodes = Episodes(tasks, EnvironmentConfig(), weights, 9, Rng(2));
  for (size_t e = 0; e < episodes.size(); ++e) {
    for (int32_t t = 0; t < std::ssize(episodes[e].actions); ++t) {
      samples.push_back({e, t});
      advantages.push_back(static_cast<float>(rng.Uniform(-1, 1)));
      lags.push_back(e % 2 == 0 ? 1.0F : 0.0F);
    }
  }
}

UpdateInputs RankLesson::Inputs(const DecisionLoss& loss) const {
  return {.episodes = episodes,
          .samples = samples,
          .advantages = advantages,
          .lags = lags,
          .loss = loss,
          .gradient_clip = 0.5,
          .learning_rate = 1e-2};
}

RunConfig RankLesson::Config(int64_t ranks, int64_t shards) const {
  RunConfig config;
  config.training.ranks = ranks;
  config.training.shards = shards;
  config.training.device = LearnerDevice::kCpu;
  return config;
}

}  // namespace emplace
