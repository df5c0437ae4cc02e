#include "tools/bench/rollout_bench.h"

#include <memory>

#include "actor/rollout.h"
#include "policy/config/run_config.h"
#include "policy/policy_weights.h"
#include "simulator/environment/environment_config.h"
#include "tools/bench/harness/inputs.h"

namespace emplace::bench {

std::vector<Figure> RolloutFigures(const Effort& effort) {
  constexpr double kSteps = 2048;  // 16 episodes of 128 groups.
  const std::vector<PlacementTask> tasks = FamilyTasks("ptb", 20, "k80x2");
  const auto weights = std::make_shared<const PolicyWeights>(InitialWeights(tasks[0].groups.num_devices));
  const std::vector<double> seconds = Repeat(effort.Repetitions(7), [&] {
    // From the start each time: a repetition is the same episodes again.
    Rollout rollout(tasks, EnvironmentConfig{}, ActorConfig{}.episodes_in_flight, ActorKey{}, Rng(1).Fork("rollout"));
    rollout.SetWeights(weights);
    return Seconds([&] {
             while (static_cast<double>(rollout.steps()) < kSteps) rollout.Advance();
           }) *
           kSteps / static_cast<double>(rollout.steps());
  });
  return {Summarize("actor_steps_per_s", "steps/s", Map(seconds, [](double s) { return kSteps / s; }))};
}

}  // namespace emplace::bench
