#include "simulator/environment/policy_placer.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/engine/simulator.h"
#include "simulator/environment/start_placement.h"

namespace emplace {
namespace {

// Greedy: the most likely device. Sampled: drawn from the softmax. -infinity is never chosen.
size_t Choose(std::span<const float> logits, bool greedy, Rng& rng, std::vector<double>& weights) {
  CheckLogits(logits);
  const auto best = std::max_element(logits.begin(), logits.end());
  if (greedy) return static_cast<size_t>(best - logits.begin());
  for (size_t d = 0; d < logits.size(); ++d) weights[d] = std::exp(static_cast<double>(logits[d] - *best));
  return rng.Categorical(weights);
}

// An episode's cache takes some 100 KB.
constexpr int64_t kEpisodesAtOnce = 256;

// Plays episodes and keeps the best placement of all.
class Search {
 public:
  Search(PolicyKernel& kernel, const PlacementTask& task, const PlacerOptions& options)
      : kernel_(kernel),
        task_(task),
        options_(options),
        root_(PlacerRng(task, options)),
        simulator_(task.sim),
        op_placement_(static_cast<size_t>(task.sim.num_ops)),
        peak_bytes_(static_cast<size_t>(task.sim.num_devices)) {}

  // Episodes [begin, end), side by side. Each is the same whichever others are played with it.
  void Play(int64_t begin, int64_t end) {
    const auto episodes = static_cast<size_t>(end - begin);
    const size_t devices = peak_bytes_.size();
    std::vector<Rng> rngs;
    std::vector<std::vector<uint8_t>> placements(episodes);
    std::vector<PolicyState> states(episodes);
    std::vector<EpisodeCache> caches(episodes);
    std::vector<EpisodeCache*> state_caches;
    for (EpisodeCache& cache : caches) state_caches.push_back(&cache);
    for (size_t e = 0; e < episodes; ++e) {
      rngs.push_back(root_.Fork("episode", static_cast<uint64_t>(begin) + e));
      StartPlacement(task_, options_.start, rngs[e], placements[e]);
      states[e] = {&task_.policy, placements[e].data(), 0};
    }

    // No reward is needed on the way, so nothing is simulated before the end.
    std::vector<float> logits(episodes * devices);
    std::vector<double> weights(devices);
    for (int32_t step = 0; step < task_.policy.num_nodes; ++step) {
      for (PolicyState& state : states) state.step = step;
      kernel_.Forward(states, state_caches, logits);
      for (size_t e = 0; e < episodes; ++e) {
        const std::span<const float> row = std::span<const float>(logits).subspan(e * devices, devices);
        const bool greedy = begin + static_cast<int64_t>(e) == 0;
        placements[e][static_cast<size_t>(step)] = static_cast<uint8_t>(Choose(row, greedy, rngs[e], weights));
      }
    }
    for (const std::vector<uint8_t>& placement : placements) Consider(placement);
  }

  PlacerResult TakeBest() { return std::move(best_); }

 private:
  void Consider(const std::vector<uint8_t>& placement) {
    task_.Expand(placement, op_placement_);
    const double makespan_us = simulator_.MakespanAndPeak(op_placement_, peak_bytes_);
    const bool feasible = task_.sim.Fits(peak_bytes_);
    const bool better = std::tuple(!feasible, makespan_us) < std::tuple(!best_.feasible, best_.makespan_us);
    if (any_ && !better) return;
    any_ = true;
    best_.groups = placement;
    best_.makespan_us = makespan_us;
    best_.peak_bytes = peak_bytes_;
    best_.feasible = feasible;
  }

  PolicyKernel& kernel_;
  const PlacementTask& task_;
  const PlacerOptions& options_;
  const Rng root_;
  Simulator simulator_;
  std::vector<DeviceIndex> op_placement_;  // [num_ops] scratch
  std::vector<int64_t> peak_bytes_;        // [D] scratch
  bool any_ = false;
  PlacerResult best_;
};

}  // namespace

Rng PlacerRng(const PlacementTask& task, const PlacerOptions& options) {
  return Rng(options.seed).Fork("placer/" + task.name);
}

PlacerResult PlaceWithPolicy(PolicyKernel& kernel, const PlacementTask& task, const PlacerOptions& options) {
  if (kernel.shape().num_devices != task.sim.num_devices) {
    throw BadInput(StrCat("the policy is for ", kernel.shape().num_devices, " devices, expected one for ",
                          task.sim.num_devices, ", as many as the cluster has"));
  }
  Search search(kernel, task, options);
  const int64_t episodes = int64_t{options.samples} + 1;  // The first is greedy.
  for (int64_t begin = 0; begin < episodes; begin += kEpisodesAtOnce) {
    search.Play(begin, std::min(begin + kEpisodesAtOnce, episodes));
  }
  PlacerResult best = search.TakeBest();
  best.evaluations = episodes;
  return best;
}

}  // namespace emplace
