#include "simulator/policy_placer.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/simulator.h"
#include "simulator/start_placement.h"

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

}  // namespace

Rng PlacerRng(const PlacementTask& task, const PlacerOptions& options) {
  return Rng(options.seed).Fork("placer/" + task.name);
}

PlacerResult PlaceWithPolicy(PolicyKernel& kernel, const PlacementTask& task, const PlacerOptions& options) {
  if (kernel.shape().num_devices != task.sim.num_devices) {
    throw BadInput(StrCat("the policy is for ", kernel.shape().num_devices, " devices, expected one for ",
                          task.sim.num_devices, ", as many as the cluster has"));
  }
  const auto episodes = static_cast<size_t>(options.samples) + 1;  // The first is greedy.
  const auto devices = static_cast<size_t>(task.sim.num_devices);
  const Rng root = PlacerRng(task, options);
  std::vector<Rng> rngs;
  std::vector<std::vector<uint8_t>> placements(episodes);
  std::vector<PolicyState> states(episodes);
  std::vector<EpisodeCache> caches(episodes);
  std::vector<EpisodeCache*> state_caches;
  for (EpisodeCache& cache : caches) state_caches.push_back(&cache);
  for (size_t e = 0; e < episodes; ++e) {
    rngs.push_back(root.Fork("episode", e));
    StartPlacement(task, options.start, rngs[e], placements[e]);
    states[e] = {&task.policy, placements[e].data(), 0};
  }

  // No reward is needed on the way, so nothing is simulated before the end.
  std::vector<float> logits(episodes * devices);
  std::vector<double> weights(devices);
  for (int32_t step = 0; step < task.policy.num_nodes; ++step) {
    for (PolicyState& state : states) state.step = step;
    kernel.Forward(states, state_caches, logits);
    for (size_t e = 0; e < episodes; ++e) {
      const std::span<const float> row = std::span<const float>(logits).subspan(e * devices, devices);
      placements[e][static_cast<size_t>(step)] = static_cast<uint8_t>(Choose(row, e == 0, rngs[e], weights));
    }
  }

  Simulator simulator(task.sim);
  std::vector<DeviceIndex> op_placement(static_cast<size_t>(task.sim.num_ops));
  std::vector<int64_t> peak_bytes(devices);
  PlacerResult best;
  for (size_t e = 0; e < episodes; ++e) {
    task.Expand(placements[e], op_placement);
    const double makespan_us = simulator.MakespanAndPeak(op_placement, peak_bytes);
    const bool feasible = task.sim.Fits(peak_bytes);
    const bool better = std::tuple(!feasible, makespan_us) < std::tuple(!best.feasible, best.makespan_us);
    if (e > 0 && !better) continue;
    best.groups = placements[e];
    best.makespan_us = makespan_us;
    best.peak_bytes = peak_bytes;
    best.feasible = feasible;
  }
  best.evaluations = static_cast<int64_t>(episodes);
  return best;
}

}  // namespace emplace
