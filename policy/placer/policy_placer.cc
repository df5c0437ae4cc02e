#include "policy/placer/policy_placer.h"

#include <algorithm>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "policy/balanced_choice.h"
#include "policy/policy_kinds.h"
#include "policy/sample_choice.h"
#include "simulator/engine/simulator.h"
#include "simulator/environment/start_placement.h"

namespace emplace {
namespace {

// An episode can take some 100 KB.
constexpr int64_t kEpisodesAtOnce = 256;

// Plays episodes and keeps the best placement of all.
class Search {
 public:
  Search(Player& player, const PlacementTask& task, const PlacerOptions& options)
      : player_(player),
        view_(player.View(task)),
        task_(task),
        options_(options),
        root_(PlacerRng(task, options)),
        simulator_(task.sim),
        op_placement_(static_cast<size_t>(task.sim.num_ops)),
        peak_bytes_(static_cast<size_t>(task.sim.num_devices)) {}

  // Episodes [begin, end), side by side. Each is the same whichever others are played with it.
  void Play(int64_t begin, int64_t end) {
    std::vector<Rng> rngs;
    std::vector<std::unique_ptr<PlayedEpisode>> episodes;
    std::vector<uint8_t> start;
    for (int64_t e = begin; e < end; ++e) {
      rngs.push_back(root_.Fork("episode", static_cast<uint64_t>(e)));
      StartPlacement(task_, options_.start, rngs.back(), start);
      episodes.push_back(player_.Begin(*view_, start));
    }

    const PolicyKind& kind = FindPolicyKind(player_.shape().kind);
    BalancedChoice balanced(static_cast<size_t>(kind.MostChoices(task_.sim.num_devices)));
    bool balances = Balances(player_.shape());
    // No reward is needed on the way, so nothing is simulated before the end.
    Decisions decisions;
    std::vector<uint8_t> choices;
    std::vector<size_t> running;  // Indices of the episodes that are not done.
    std::vector<PlayedEpisode*> wave;
    while (true) {
      options_.stop.Poll();
      running.clear();
      wave.clear();
      for (size_t e = 0; e < episodes.size(); ++e) {
        if (episodes[e]->done()) continue;
        running.push_back(e);
        wave.push_back(episodes[e].get());
      }
      if (wave.empty()) break;
      player_.Next(wave, decisions);
      choices.clear();
      const auto greedy = [&](std::span<const float> row) {
        // The greedy episode is the first of the wave, so the choices so far are its own.
        return balances ? balanced.Next(row, task_.groups.cost_us[choices.size()]) : GreedyChoice(row);
      };
      ForEachDecision(decisions, [&](size_t i, std::span<const float> row) {
        const bool first = begin + static_cast<int64_t>(running[i]) == 0;
        choices.push_back(static_cast<uint8_t>(first ? greedy(row) : SampleChoice(row, rngs[running[i]]).index));
      });
      player_.Apply(wave, choices);
      balances = false;  // Those of later blocks are not of groups.
    }
    for (const auto& episode : episodes) Consider(episode->placement());
  }

  bool any() const { return best_.evaluations > 0; }
  PlacerResult TakeBest() { return std::move(best_); }

 private:
  void Consider(std::span<const uint8_t> placement) {
    task_.Expand(placement, op_placement_);
    const double makespan_us = simulator_.MakespanAndPeak(op_placement_, peak_bytes_);
    const bool feasible = task_.sim.Fits(peak_bytes_);
    ++best_.evaluations;
    const bool better = std::tuple(!feasible, makespan_us) < std::tuple(!best_.feasible, best_.makespan_us);
    if (best_.evaluations > 1 && !better) return;
    best_.groups.assign(placement.begin(), placement.end());
    best_.makespan_us = makespan_us;
    best_.peak_bytes = peak_bytes_;
    best_.feasible = feasible;
  }

  Player& player_;
  const std::unique_ptr<TaskView> view_;
  const PlacementTask& task_;
  const PlacerOptions& options_;
  const Rng root_;
  Simulator simulator_;
  std::vector<DeviceIndex> op_placement_;  // [num_ops] scratch
  std::vector<int64_t> peak_bytes_;        // [D] scratch
  PlacerResult best_;
};

}  // namespace

Start StartOfEpisodes(const PolicyWeights& policy) {
  const auto start = policy.metadata.find("environment.start");
  if (start == policy.metadata.end()) return PlacerOptions().start;
  return StartFromText(start->second, "environment.start of the policy");
}

Rng PlacerRng(const PlacementTask& task, const PlacerOptions& options) {
  return Rng(options.seed).Fork("placer/" + task.name);
}

PlacerResult PlaceWithPolicy(Player& player, const PlacementTask& task, const PlacerOptions& options) {
  if (!player.shape().FitsDevices(task.sim.num_devices)) {
    throw BadInput(StrCat("the policy is for ", player.shape().num_devices, " devices, expected one for ",
                          task.sim.num_devices, ", as many as the cluster has"));
  }
  Search search(player, task, options);
  const int64_t episodes = int64_t{options.samples} + 1;
  try {
    search.Play(0, 1);  // The greedy one, by itself: it is there early, should the time not be enough for others.
    for (int64_t begin = 1; begin < episodes; begin += kEpisodesAtOnce) {
      search.Play(begin, std::min(begin + kEpisodesAtOnce, episodes));
    }
  } catch (const Stopped&) {
    if (!search.any()) throw;
  }
  return search.TakeBest();
}

}  // namespace emplace
