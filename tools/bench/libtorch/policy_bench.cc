#include "tools/bench/libtorch/policy_bench.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "common/error.h"
#include "policy/placeto/kernel/placeto_kernel.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"
#include "policy/policy_weights.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/placement_env.h"
#include "tests/support/placeto_net.h"
#include "tools/bench/harness/inputs.h"

namespace emplace::bench {
namespace {

constexpr size_t kEpisodes = 16;

struct WaveSeconds {
  double kernel = 0;    // With a cache for each episode, as actors run it,
  double uncached = 0;  // and without.
  double batching = 0;  // LibTorch's side: making its batch,
  double network = 0;   // and the forward pass.
};

// The kernel is proven equal to the network by the tests; here, that both were given the same.
void CheckEqual(std::span<const float> kernel, const torch::Tensor& network) {
  const torch::Tensor flat = network.contiguous();
  EMPLACE_CHECK(flat.numel() == std::ssize(kernel));
  for (size_t i = 0; i < kernel.size(); ++i) {
    EMPLACE_CHECK(std::abs(kernel[i] - flat.data_ptr<float>()[i]) < 1e-4F * std::max(1.0F, std::abs(kernel[i])));
  }
}

// All episodes of a wave, step by step. Both sides get the states of each step, and the one that begins alternates;
// actions are random.
class Wave {
 public:
  explicit Wave(const PlacementTask& task)
      : graph_(task.groups),
        weights_(InitialWeights(graph_.num_devices)),
        kernel_(weights_),
        net_(weights_),
        caches_(kEpisodes) {
    for (EpisodeCache& cache : caches_) state_caches_.push_back(&cache);
    for (size_t e = 0; e < kEpisodes; ++e)
      episodes_.push_back(std::make_unique<PlacementEnv>(task, EnvironmentConfig{}));
    logits_.resize(kEpisodes * static_cast<size_t>(graph_.num_devices));
  }

  WaveSeconds Play(Rng& rng) {
    const torch::InferenceMode no_gradients;
    WaveSeconds seconds;
    for (const auto& episode : episodes_) episode->Reset(rng);
    for (int32_t step = 0; step < graph_.num_nodes; ++step) {
      states_.clear();
      for (const auto& episode : episodes_) states_.push_back({&graph_, episode->placement().data(), step});
      const auto run_kernel = [&] {
        seconds.kernel += Seconds([&] { kernel_.Forward(states_, state_caches_, logits_); });
      };
      if (step % 2 == 0) run_kernel();
      PlacetoBatch batch;
      torch::Tensor reference;
      seconds.batching += Seconds([&] { batch = MakePlacetoBatch(graph_, states_, shape_, torch::kCPU); });
      seconds.network += Seconds([&] { reference = net_.Forward(batch); });
      if (step % 2 == 1) run_kernel();
      CheckEqual(logits_, reference);
      seconds.uncached += Seconds([&] { kernel_.Forward(states_, logits_); });
      for (const auto& episode : episodes_) {
        episode->Step(static_cast<DeviceIndex>(rng.UniformInt(0, graph_.num_devices - 1)));
      }
    }
    return seconds;
  }

 private:
  const PlacetoGraph graph_;
  const PolicyWeights weights_;
  const PlacetoShape shape_ = PlacetoShape::Of(weights_.shape);
  PlacetoKernel kernel_;
  PlacetoNet net_;
  std::vector<std::unique_ptr<PlacementEnv>> episodes_;
  std::vector<EpisodeCache> caches_;  // [kEpisodes]
  std::vector<EpisodeCache*> state_caches_;
  std::vector<PlacetoState> states_;
  std::vector<float> logits_;  // [kEpisodes * devices]
};

}  // namespace

std::vector<Figure> PolicyFigures(const Effort& effort) {
  const std::vector<PlacementTask> tasks = FamilyTasks("ptb", 1, "k80x4");
  Wave wave(tasks[0]);
  Rng rng = Rng(1).Fork("waves");
  std::vector<double> speedups;
  std::vector<double> without_batching;
  std::vector<double> without_cache;
  std::vector<double> kernel_us;
  for (int i = 0; i <= effort.Repetitions(5); ++i) {
    const WaveSeconds seconds = wave.Play(rng);
    if (i == 0) continue;  // Warms up.
    speedups.push_back((seconds.batching + seconds.network) / seconds.kernel);
    without_batching.push_back(seconds.network / seconds.kernel);
    without_cache.push_back((seconds.batching + seconds.network) / seconds.uncached);
    kernel_us.push_back(1e6 * seconds.kernel /
                        static_cast<double>(kEpisodes * static_cast<size_t>(tasks[0].groups.num_groups)));
  }
  return {Summarize("actor_speedup_vs_libtorch", "x", speedups),
          Summarize("actor_speedup_vs_libtorch_without_batching", "x", without_batching),
          Summarize("actor_speedup_vs_libtorch_without_cache", "x", without_cache),
          Summarize("actor_kernel_us_per_state", "us", kernel_us)};
}

}  // namespace emplace::bench
