#include "tests/learner/update/update_lesson.h"

#include <utility>

#include "common/rng.h"
#include "tests/learner/episodes.h"

namespace emplace {

UpdateLesson::UpdateLesson(PolicyWeights policy) : tasks(TwoDeviceTasks(1, 4)), weights(std::move(policy)) {
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

UpdateInputs UpdateLesson::Inputs(const DecisionLoss& loss, double gradient_clip, double learning_rate) const {
  return {{.episodes = episodes,
           .samples = samples,
           .advantages = advantages,
           .lags = lags,
           .gradient_clip = gradient_clip,
           .learning_rate = learning_rate},
          loss};
}

}  // namespace emplace
