#include "tools/bench/search_bench.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/engine/simulator.h"
#include "simulator/methods/groups/expert_method.h"
#include "simulator/methods/search/pass.h"
#include "simulator/methods/search/search_plan.h"
#include "simulator/methods/search/trial_evaluator.h"
#include "simulator/methods/search/walk.h"
#include "simulator/task/coarse_task.h"
#include "tools/bench/harness/inputs.h"

namespace emplace::bench {
namespace {

constexpr int64_t kCandidates = 1000;  // In a repetition, from coarse groups to single ops.
constexpr int kSimulations = 100;

// Walks from the expert's placement with the temperatures of `auto`. priorities: as of Walk. Returns where it ended.
Placement WalkOnOneCore(const SearchSpace& space, const Placement& start, const ScheduleGraph* priorities) {
  SearchLimit limit(kCandidates, 0, nullptr);
  ThreadTeam team(1);
  Walk walk(space, limit, team, /*seed=*/1, priorities);
  walk.Start(start);
  RunPass(walk, space, limit, {.finest = 0, .mix = {}, .hot = 0.002, .cold = 0.00002});
  return walk.best();
}

// The same placement on the next devices. REQUIRES: the devices are alike, so that it takes as long.
Placement Rotated(const PlacementTask& task, const Placement& placement) {
  Placement rotated;
  for (const DeviceIndex device : placement) rotated.push_back((device + 1) % task.sim.num_devices);
  return rotated;
}

// Two placements in turns, which have nothing in common, so that no run reuses the one before.
void SimulateInTurns(const PlacementTask& task, const std::array<const Placement*, 2>& placements) {
  Simulator simulator(task.sim);
  double sum = 0;  // What is computed is used.
  for (int i = 0; i < kSimulations; ++i) sum += simulator.Makespan(*placements[static_cast<size_t>(i % 2)]);
  EMPLACE_CHECK(sum > 0);
}

// Candidates a second of a walk, which returns what it found, and the same over whole simulations a second of that.
void AddFigures(const Effort& effort, const std::string& key, const PlacementTask& task,
                const std::function<Placement()>& walk, std::vector<Figure>& figures) {
  const Placement found = walk();
  const Placement rotated = Rotated(task, found);
  std::vector<double> rates;
  std::vector<double> speedups;
  for (int i = 0; i < effort.Repetitions(3); ++i) {
    const double walk_s = Seconds([&] { walk(); });
    const double simulations_s = Seconds([&] { SimulateInTurns(task, {&found, &rotated}); });
    rates.push_back(static_cast<double>(kCandidates) / walk_s);
    speedups.push_back(rates.back() * simulations_s / kSimulations);
  }
  figures.push_back(Summarize(StrCat("search_candidates_per_s_", key), "1/s", rates));
  figures.push_back(Summarize(StrCat("search_candidate_speedup_", key), "x", speedups));
}

}  // namespace

std::vector<Figure> SearchFigures(const Effort& effort) {
  std::vector<Figure> figures;
  for (const std::string cluster : {"k80x4", "v100x4_nvlink"}) {
    for (const std::string family : {"ptb", "nmt", "cifar10", "nasnet"}) {
      const PlacementTask task = PlacementTask::Make(FamilyGraphs(family, 1).front(), BenchCluster(cluster), 128);
      const SearchSpace space(task);
      const Placement start = *ExpertMethod({}).Place(task).placement;
      const ScheduleGraph graph(task);
      for (const ScheduleGraph* const priorities : {static_cast<const ScheduleGraph*>(nullptr), &graph}) {
        AddFigures(
            effort, StrCat(priorities == nullptr ? "" : "ordered_", family, "_", cluster), task,
            [&] { return WalkOnOneCore(space, start, priorities); }, figures);
      }
      const auto level = static_cast<std::ptrdiff_t>(space.LevelWith(PhaseRules().most_coarse_groups));
      const CoarseTask coarse(task, {task.levels->All().begin() + level, task.levels->All().end()});
      const SearchSpace coarse_space(coarse.task());
      const ScheduleGraph coarse_graph(coarse.task());
      const Placement coarse_start = coarse.Coarsened(start);
      AddFigures(
          effort, StrCat("contracted_", family, "_", cluster), task,
          [&] { return coarse.Expanded(WalkOnOneCore(coarse_space, coarse_start, &coarse_graph)); }, figures);
    }
  }
  return figures;
}

}  // namespace emplace::bench
