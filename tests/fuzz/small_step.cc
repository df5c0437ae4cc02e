#include "tests/fuzz/small_step.h"

#include <algorithm>

#include "learner/ranks/step_message.h"
#include "learner/update/objective/make_loss.h"
#include "policy/placeto/placeto_kind.h"
#include "tests/fuzz/play_episode.h"

namespace emplace {

PolicyWeights NarrowPolicy(bool memory_feature) {
  PlacetoShape shape;
  shape.message_rounds = 2;
  shape.message_width = 1;
  shape.memory_feature = memory_feature;
  PolicyWeights weights = InitialPlaceto(shape, Rng(1));
  weights.version = 3;
  weights.metadata = {{"grouping.max_groups", "4"}};
  return weights;
}

SmallStep::SmallStep(const std::vector<PlacementTask>& tasks) : loss_(MakeLoss({LossKind::kPpo, 0.2, 0.01})) {
  for (uint64_t seed = 0; seed < 2 * tasks.size(); ++seed) {
    const auto graph = static_cast<GraphId>(seed % tasks.size());
    Trajectory& episode = episodes_.emplace_back(PlayEpisode(tasks[graph], {}, seed));
    episode.graph = graph;
    for (size_t step = 0; step < episode.actions.size(); ++step) {
      samples_.push_back({static_cast<size_t>(seed), static_cast<int32_t>(step)});
      advantages_.push_back(step % 2 == 0 ? 0.5F : -1.0F);
      lags_.push_back(0);
    }
  }
}

ArrayBundle SmallStep::ToArrays(const std::vector<float>& values) const {
  return ToBundle(UpdateInputs{{.episodes = episodes_,
                                .samples = samples_,
                                .advantages = advantages_,
                                .lags = lags_,
                                .gradient_clip = 1,
                                .learning_rate = 1e-3},
                               *loss_},
                  values);
}

void SmallStep::GoOn() { std::ranges::fill(lags_, 1.0F); }

}  // namespace emplace
