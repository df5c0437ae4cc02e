#include "learner/update/objective/best_episodes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "learner/claims.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/task/equal_devices.h"

namespace emplace {

void BestEpisodes::Consider(const std::vector<Trajectory>& batch) {
  for (const Trajectory& episode : batch) ConsiderOne(episode);
}

void BestEpisodes::ConsiderOne(const Trajectory& episode) {
  BestEpisode& best = best_[episode.graph];
  const double bound = best.actions.empty() ? std::numeric_limits<double>::infinity() : static_cast<double>(best.rho);
  const PlacementTask& task = tasks_[episode.graph];
  std::vector<uint8_t> groups(static_cast<size_t>(task.groups.num_groups));
  for (const size_t point : ClaimsBelow(bound, kind_.FirstDecidedRho(), episode)) {
    kind_.PlacementAt(task, episode, point, groups);
    if (!Fits(task, groups)) continue;
    // What decides step by step ends where it has come to by then, if it leaves the rest where it was.
    const bool by_step = kind_.reward_time() == RewardTime::kEachDecision;
    best = {episode.start_placement, by_step ? groups : episode.actions, episode.rho[point]};
    // What begins nowhere has no names yet for equal devices. If every graph's best used other names, the imitations of
    // a policy that is near uniform would cancel out.
    if (!by_step && best.actions == groups) NumberInOrderOfUse(EqualDevices(task.sim), best.actions);
    return;
  }
}

bool BestEpisodes::Fits(const PlacementTask& task, const std::vector<uint8_t>& groups) {
  std::vector<DeviceIndex> placement(static_cast<size_t>(task.sim.num_ops));
  task.Expand(groups, placement);
  return PlacementScorer(task).Score(placement).bytes_over == 0;
}

std::vector<Trajectory> BestEpisodes::Draw(int64_t count, Rng& rng) const {
  std::vector<size_t> known;
  for (size_t graph = 0; graph < best_.size(); ++graph) {
    if (!best_[graph].actions.empty()) known.push_back(graph);
  }
  std::vector<Trajectory> drawn;
  while (!known.empty() && std::ssize(drawn) < count) {
    const size_t graph = OneOf(rng, known);
    Trajectory& episode = drawn.emplace_back();
    episode.graph = static_cast<GraphId>(graph);
    episode.start_placement = best_[graph].start_placement;
    episode.actions = best_[graph].actions;
    episode.behaviour_log_prob.assign(episode.actions.size(), 0.0F);
    episode.rho.assign(kind_.NumRho(episode.actions.size()), best_[graph].rho);
  }
  return drawn;
}

void BestEpisodes::Load(std::vector<BestEpisode> best) {
  if (best.size() != best_.size()) {
    throw BadInput(StrCat("best episodes of ", best.size(), " graphs, expected ", best_.size()));
  }
  for (size_t graph = 0; graph < best.size(); ++graph) {
    const BestEpisode& episode = best[graph];
    if (episode.actions.empty()) continue;
    Trajectory trajectory;
    trajectory.graph = static_cast<GraphId>(graph);
    trajectory.start_placement = episode.start_placement;
    trajectory.actions = episode.actions;
    const std::optional<std::string> reason = kind_.CheckDecisions(tasks_[graph], trajectory);
    if (reason) throw BadInput(StrCat("the best episode of graph ", graph, ": ", *reason));
    if (!std::isfinite(episode.rho)) {
      throw BadInput(StrCat("the best episode of graph ", graph, " has rho ", episode.rho, ", expected a finite one"));
    }
  }
  best_ = std::move(best);
}

}  // namespace emplace
