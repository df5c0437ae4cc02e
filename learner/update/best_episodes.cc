#include "learner/update/best_episodes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/engine/simulator.h"

namespace emplace {

namespace {

// Where memory is tight an episode can pass through many placements that do not fit: only the first few are tried.
constexpr size_t kMostFitChecks = 4;

}  // namespace

void BestEpisodes::Consider(const std::vector<Trajectory>& batch) {
  for (const Trajectory& episode : batch) ConsiderOne(episode);
}

void BestEpisodes::ConsiderOne(const Trajectory& episode) {
  BestEpisode& best = best_[episode.graph];
  std::vector<size_t> better;  // Numbers of steps after which it was better than the best so far.
  for (size_t step = 1; step < episode.rho.size(); ++step) {
    if (best.actions.empty() || episode.rho[step] < best.rho) better.push_back(step);
  }
  // Of equals the last: the policy has decided on more of it.
  std::ranges::sort(better, [&](size_t a, size_t b) {
    return std::pair(episode.rho[a], -std::ptrdiff_t(a)) < std::pair(episode.rho[b], -std::ptrdiff_t(b));
  });
  if (better.size() > kMostFitChecks) better.resize(kMostFitChecks);
  std::vector<uint8_t> groups(episode.actions.size());
  for (const size_t step : better) {
    PlacementAfter(episode, step, groups);
    if (!Fits(episode.graph, groups)) continue;
    best = {episode.start_placement, groups, episode.rho[step]};
    return;
  }
}

bool BestEpisodes::Fits(GraphId graph, const std::vector<uint8_t>& groups) const {
  const PlacementTask& task = tasks_[graph];
  std::vector<DeviceIndex> placement(static_cast<size_t>(task.sim.num_ops));
  std::vector<int64_t> peak_bytes(static_cast<size_t>(task.sim.num_devices));
  task.Expand(groups, placement);
  Simulator(task.sim).MakespanAndPeak(placement, peak_bytes);
  return task.sim.Fits(peak_bytes);
}

std::vector<Trajectory> BestEpisodes::Draw(int64_t count, Rng& rng) const {
  std::vector<size_t> known;
  for (size_t graph = 0; graph < best_.size(); ++graph) {
    if (!best_[graph].actions.empty()) known.push_back(graph);
  }
  std::vector<Trajectory> drawn;
  while (!known.empty() && std::ssize(drawn) < count) {
    const size_t graph = known[static_cast<size_t>(rng.UniformInt(0, std::ssize(known) - 1))];
    Trajectory& episode = drawn.emplace_back();
    episode.graph = static_cast<GraphId>(graph);
    episode.start_placement = best_[graph].start_placement;
    episode.actions = best_[graph].actions;
    episode.behaviour_log_prob.assign(episode.actions.size(), 0.0F);
    episode.rho.assign(episode.actions.size() + 1, best_[graph].rho);
  }
  return drawn;
}

void BestEpisodes::Load(std::vector<BestEpisode> best, const std::vector<int32_t>& steps, int32_t devices) {
  if (best.size() != best_.size()) {
    throw BadInput(StrCat("best episodes of ", best.size(), " graphs, expected ", best_.size()));
  }
  const auto legal = [devices](const std::vector<uint8_t>& placement) {
    return std::ranges::all_of(placement, [devices](uint8_t device) { return device < devices; });
  };
  for (size_t graph = 0; graph < best.size(); ++graph) {
    const BestEpisode& episode = best[graph];
    if (episode.actions.empty()) continue;
    const auto n = static_cast<size_t>(steps[graph]);
    if (episode.actions.size() != n || episode.start_placement.size() != n || !legal(episode.actions) ||
        !legal(episode.start_placement) || !std::isfinite(episode.rho)) {
      throw BadInput(StrCat("the best episode of graph ", graph, " has ", episode.actions.size(),
                            " actions from a start of ", episode.start_placement.size(), ", expected ", n,
                            " devices below ", devices, " each"));
    }
  }
  best_ = std::move(best);
}

}  // namespace emplace
