#include "simulator/methods/groups/annealing_method.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "common/rng.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/start_placement.h"
#include "simulator/methods/groups/budgeted_search.h"
#include "simulator/methods/groups/placement_moves.h"
#include "simulator/task/group_graph.h"

namespace emplace {
namespace {

using Groups = std::vector<uint8_t>;

// What other values come to: docs/design-search.md.
constexpr double kGreedyShare = 0.25;  // What is left for the greedy search at the end.
constexpr int64_t kMostProbes = 100;   // Moves that measure the start temperature.
constexpr double kProbeShare = 0.1;    // And at most this share of what its start has.
constexpr double kHotPerSpread = 0.5;  // Start temperature / mean change of energy by a first move.
constexpr double kColdPerHot = 1e-2;   // End temperature / start temperature.
constexpr double kMemoryPenalty = 10;  // Energy doubles where a tenth of the cluster's memory is lacking.

// Consecutive stretches of the topological order, one a device in order, of about equal cost. A group that may not run
// there goes to the next device that it may.
Groups ContiguousSplit(const GroupGraph& graph) {
  const double total = std::accumulate(graph.cost_us.begin(), graph.cost_us.end(), 0.0);
  const auto devices = static_cast<size_t>(graph.num_devices);
  Groups groups;
  double before = 0;
  for (size_t node = 0; node < static_cast<size_t>(graph.num_groups); ++node) {
    const auto cost = static_cast<double>(graph.cost_us[node]);
    const double middle = total > 0 ? (before + cost / 2) / total : 0;
    before += cost;
    size_t device = std::min(devices - 1, static_cast<size_t>(middle * static_cast<double>(devices)));
    while (!graph.Allowed(node, device)) device = (device + 1) % devices;
    groups.push_back(static_cast<uint8_t>(device));
  }
  return groups;
}

class Annealer {
 public:
  // REQUIRES: all three outlive it; moves.any().
  Annealer(const PlacementTask& task, BudgetedSearch& search, const PlacementMoves& moves, Rng& rng)
      : search_(search),
        moves_(moves),
        rng_(rng),
        memory_bytes_(std::accumulate(task.sim.memory_bytes.begin(), task.sim.memory_bytes.end(), 1.0)) {}

  // Goes on until this share of the search is over: the start, probes of the temperature, then a walk that cools
  // geometrically.
  void Anneal(Groups current, double until) {
    const double start = search_.Progress();
    double energy = Energy(search_.Simulate(current));
    const double hot = kHotPerSpread * Spread(current, energy, start + kProbeShare * (until - start));
    const double begin = search_.Progress();
    Groups next;
    for (double at = begin; at < until; at = search_.Progress()) {
      const double temperature = hot * std::pow(kColdPerHot, (at - begin) / (until - begin));
      next = current;
      moves_.Apply(rng_, next);
      const double next_energy = Energy(search_.Simulate(next));
      if (next_energy > energy && rng_.Uniform() >= std::exp((energy - next_energy) / temperature)) continue;
      energy = next_energy;
      current.swap(next);
    }
  }

  // Spends what is left on moves from the best placement so far, taking only better ones.
  void Descend() {
    Groups next;
    while (!search_.Ended()) {
      next = search_.best_groups();
      moves_.Apply(rng_, next);
      search_.Simulate(next);
    }
  }

 private:
  // What the walk lowers. Lack of memory costs in proportion, so that a walk among placements that do not fit feels its
  // way to those that do.
  double Energy(const SearchScore& score) const {
    return score.makespan_us * (1 + kMemoryPenalty * static_cast<double>(score.bytes_over) / memory_bytes_);
  }

  // The mean change of energy by one move from `start`, probed until this share of the search is over; 0 without
  // probes, which makes the walk greedy.
  double Spread(const Groups& start, double energy, double until) {
    double sum = 0;
    int64_t probes = 0;
    Groups next;
    for (; probes < kMostProbes && search_.Progress() < until; ++probes) {
      next = start;
      moves_.Apply(rng_, next);
      sum += std::abs(Energy(search_.Simulate(next)) - energy);
    }
    return probes > 0 ? sum / static_cast<double>(probes) : 0;
  }

  BudgetedSearch& search_;
  const PlacementMoves& moves_;
  Rng& rng_;
  double memory_bytes_;  // Of all devices; at least 1.
};

}  // namespace

MethodResult AnnealingMethod::Place(const PlacementTask& task) {
  Rng rng = Rng(options_.seed).Fork("annealing/" + task.name);
  BudgetedSearch search(task, options_);
  // The single device first: however small the budget is, the result is not worse.
  std::array<Groups, 3> starts;
  StartPlacement(task, Start::kSingle, rng, starts[0]);
  starts[1] = ContiguousSplit(task.groups);
  StartPlacement(task, Start::kRandom, rng, starts[2]);

  const PlacementMoves moves(task.groups);
  if (!moves.any()) {
    search.Simulate(starts[0]);
    return search.BestResult();
  }
  Annealer annealer(task, search, moves, rng);
  for (size_t i = 0; i < starts.size(); ++i) {
    const double until = (1 - kGreedyShare) * static_cast<double>(i + 1) / static_cast<double>(starts.size());
    const bool first = search.runs() == 0 && !search.Ended();  // Even where most of the time is over already.
    if (first || search.Progress() < until) annealer.Anneal(starts[i], until);
  }
  annealer.Descend();
  return search.BestResult();
}

}  // namespace emplace
