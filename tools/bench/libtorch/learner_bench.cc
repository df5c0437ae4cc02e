#include "tools/bench/libtorch/learner_bench.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "common/error.h"
#include "learner/update/make_engine.h"
#include "learner/update/objective/baselines.h"
#include "learner/update/policy_updater.h"
#include "policy/config/run_config.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/policy_weights.h"
#include "tests/support/placeto_net.h"
#include "tools/bench/harness/inputs.h"

namespace emplace::bench {
namespace {

constexpr size_t kStatesAtOnce = 64;  // The best for LibTorch on one core: more does not fit its caches.

// Forward, loss and backward of every state of the episodes through PlacetoNet; written for clarity, as the design says
// it. Advantages are not normalized and no episode lags, as in what it is compared with.
class PlainGradient {
 public:
  PlainGradient(const std::vector<PlacementTask>& tasks, const PolicyWeights& weights, const TrainingConfig& training)
      : tasks_(tasks), net_(weights), training_(training) {}

  // Returns the loss; the gradient is left in the network's parameters.
  double Run(const std::vector<Trajectory>& episodes) {
    Baselines baselines(tasks_.size(), training_.baseline, training_.baseline_window, training_.discount);
    const std::vector<std::vector<float>> advantages = baselines.AdvantagesThenAdd(episodes);
    size_t states = 0;
    for (const Trajectory& episode : episodes) states += episode.actions.size();
    net_.ZeroGradient();
    double loss = 0;
    for (size_t e = 0; e < episodes.size(); ++e) {
      for (size_t begin = 0; begin < episodes[e].actions.size(); begin += kStatesAtOnce) {
        const size_t end = std::min(begin + kStatesAtOnce, episodes[e].actions.size());
        loss += Backward(episodes[e], std::span(advantages[e]), begin, end, static_cast<double>(states));
      }
    }
    return loss;
  }

 private:
  double Backward(const Trajectory& episode, std::span<const float> advantages, size_t begin, size_t end,
                  double total) {
    const PlacetoGraph graph(tasks_[episode.graph].groups);
    std::vector<std::vector<uint8_t>> placements;
    std::vector<PlacetoState> states;
    placements.reserve(end - begin);
    std::vector<int64_t> actions;
    for (size_t t = begin; t < end; ++t) {
      std::vector<uint8_t>& placement = placements.emplace_back(episode.start_placement);
      for (size_t before = 0; before < t; ++before) placement[before] = episode.actions[before];
      states.push_back({&graph, placement.data(), static_cast<int32_t>(t)});
      actions.push_back(episode.actions[t]);
    }
    const std::vector<float> advantage(advantages.begin() + static_cast<std::ptrdiff_t>(begin),
                                       advantages.begin() + static_cast<std::ptrdiff_t>(end));
    const torch::Tensor logits = net_.Forward(MakePlacetoBatch(graph, states, net_.shape(), torch::kCPU));
    const torch::Tensor log_probs = torch::log_softmax(logits, 1);
    const torch::Tensor chosen = log_probs.gather(1, torch::tensor(actions).unsqueeze(1)).squeeze(1);
    const torch::Tensor finite = log_probs.masked_fill(log_probs.isinf(), 0.0);
    const torch::Tensor entropy = -(log_probs.exp() * finite).sum();
    const torch::Tensor loss = (-(torch::tensor(advantage) * chosen).sum() - training_.entropy_start * entropy) / total;
    loss.backward();
    return loss.item<double>();
  }

  const std::vector<PlacementTask>& tasks_;
  PlacetoNet net_;
  const TrainingConfig training_;
};

RunConfig CpuConfig() {
  RunConfig config;
  config.training.device = LearnerDevice::kCpu;
  return config;
}

// 512 states: four episodes of 128 steps on four graphs, every step of them.
std::vector<Figure> Against(const std::vector<PlacementTask>& tasks,
                            const std::shared_ptr<const PolicyWeights>& weights, const Effort& effort) {
  RunConfig config = CpuConfig();
  config.training.max_states_per_update = 0;
  config.training.normalize_advantages = AdvantageUnit::kNone;
  const std::vector<Trajectory> episodes = PlayEpisodes(tasks, weights, 4);
  PlainGradient plain(tasks, *weights, config.training);
  double plain_loss = 0;
  double loss = 0;
  const PairedSeconds seconds = RepeatPaired(
      effort.Repetitions(5), [&] { return Seconds([&] { plain_loss = plain.Run(episodes); }); },
      [&] {
        // Anew each time, so that both sides see the same weights.
        PolicyUpdater updater(tasks, config, *weights, MakeEngine(config.training, tasks, *weights));
        return Seconds([&] { loss = updater.Update(episodes).loss; });
      });
  EMPLACE_CHECK(std::abs(loss - plain_loss) < 1e-4 * std::max(1.0, std::abs(plain_loss)));
  return {Summarize("learner_speedup_vs_libtorch", "x", seconds.Speedups())};
}

// As the default configuration trains: 512 states drawn from 16 episodes.
std::vector<Figure> Rate(const std::vector<PlacementTask>& tasks, const std::shared_ptr<const PolicyWeights>& weights,
                         const Effort& effort) {
  const RunConfig config = CpuConfig();
  const std::vector<Trajectory> episodes =
      PlayEpisodes(tasks, weights, static_cast<size_t>(config.training.episodes_per_update));
  PolicyUpdater updater(tasks, config, *weights, MakeEngine(config.training, tasks, *weights));
  std::vector<double> rates;
  for (int i = 0; i <= effort.Repetitions(5); ++i) {
    UpdateStats stats;
    const double seconds = Seconds([&] { stats = updater.Update(episodes); });
    if (i > 0) rates.push_back(static_cast<double>(stats.states) / seconds);  // The first warms up.
  }
  return {Summarize("learner_states_per_s", "states/s", rates)};
}

}  // namespace

std::vector<Figure> LearnerFigures(const Effort& effort) {
  const std::vector<PlacementTask> tasks = FamilyTasks("ptb", 20, "k80x2");
  const auto weights = std::make_shared<const PolicyWeights>(InitialWeights(tasks[0].groups.num_devices));
  std::vector<Figure> figures = Against(tasks, weights, effort);
  for (Figure& figure : Rate(tasks, weights, effort)) figures.push_back(std::move(figure));
  return figures;
}

}  // namespace emplace::bench
