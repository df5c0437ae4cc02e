#include "tools/bench/simulator_bench.h"

#include <algorithm>
#include <deque>
#include <string>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/engine/simulator.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/placement_env.h"
#include "simulator/environment/start_placement.h"
#include "tools/bench/harness/inputs.h"

namespace emplace::bench {
namespace {

// Episodes of random actions on one graph, each played twice: as the environment makes its steps, and with a run of the
// same placements each right after one that has nothing to do with it.
class EpisodePlayer {
 public:
  explicit EpisodePlayer(const PlacementTask& task)
      : task_(task), env_(task, {}), op_placement_(static_cast<size_t>(task.sim.num_ops)) {}

  // The seconds of both for the steps that moved a group: unrelated runs / steps.
  double Play(Rng& rng) {
    const double step_s = PlaySteps(rng);
    return StartAnew(rng) / step_s;
  }

 private:
  double PlaySteps(Rng& rng) {
    double seconds = 0;
    moves_.clear();
    env_.Reset(rng);
    while (!env_.done()) {
      const auto group = static_cast<size_t>(env_.step());
      const auto device = static_cast<DeviceIndex>(rng.UniformInt(0, task_.groups.num_devices - 1));
      const bool moves = env_.placement()[group] != device;
      const double step_s = Seconds([&] { env_.Step(device); });
      if (!moves) continue;
      seconds += step_s;
      moves_.push_back({{env_.placement().begin(), env_.placement().end()}, env_.makespan_us()});
    }
    return seconds;
  }

  double StartAnew(Rng& rng) {
    double seconds = 0;
    for (const Move& move : moves_) {
      StartPlacement(task_, Start::kRandom, rng, unrelated_);
      env_.Reset(unrelated_);
      seconds += Seconds([&] { env_.Reset(move.placement); });
      // A Reset also expands the placement, which a step does not.
      seconds -= Seconds([&] { task_.Expand(move.placement, op_placement_); });
      EMPLACE_CHECK(env_.makespan_us() == move.makespan_us);
    }
    return seconds;
  }

  struct Move {
    std::vector<uint8_t> placement;  // [n groups] after it
    double makespan_us;
  };
  const PlacementTask& task_;
  PlacementEnv env_;
  std::vector<Move> moves_;
  std::vector<uint8_t> unrelated_;
  std::vector<DeviceIndex> op_placement_;
};

std::vector<double> IncrementalSpeedups(const std::string& family, int episodes) {
  const int64_t graphs = family == "ptb" || family == "cifar10" ? 4 : 1;
  const std::vector<PlacementTask> tasks = FamilyTasks(family, graphs, "k80x2");
  std::deque<EpisodePlayer> players;  // They do not move.
  for (const PlacementTask& task : tasks) {
    // Any device for any group, so that every action is allowed.
    EMPLACE_CHECK(
        std::all_of(task.groups.allowed.begin(), task.groups.allowed.end(), [](uint8_t a) { return a == 1; }));
    players.emplace_back(task);
  }
  Rng rng = Rng(1).Fork(family);
  std::vector<double> speedups;
  for (int i = 0; i <= episodes; ++i) {
    const double speedup = players[static_cast<size_t>(i) % players.size()].Play(rng);
    if (i > 0) speedups.push_back(speedup);  // The first warms up.
  }
  return speedups;
}

}  // namespace

std::vector<Figure> SimulatorFigures(const Effort& effort) {
  constexpr int32_t kOps = 2000;
  constexpr int32_t kPlacements = 64;
  const SimGraph graph = SimGraph::Compile(RandomDag(Rng(1).Fork("dag"), kOps), BenchCluster("k80x4"));
  Simulator simulator(graph);
  Rng rng = Rng(1).Fork("placements");
  std::vector<Placement> placements;
  for (int32_t i = 0; i < kPlacements; ++i) placements.push_back(RandomOpPlacement(rng, kOps, graph.num_devices));
  double sum = 0;  // Of the makespans: what is computed is used.
  const std::vector<double> seconds = Repeat(effort.Repetitions(40), [&] {
    return Seconds([&] {
      for (const Placement& placement : placements) sum += simulator.Makespan(placement);
    });
  });
  EMPLACE_CHECK(sum > 0);
  return {
      Summarize("simulator_ns_per_op", "ns", Map(seconds, [](double s) { return 1e9 * s / (kPlacements * kOps); }))};
}

std::vector<Figure> IncrementalFigures(const Effort& effort) {
  struct FamilyEpisodes {
    std::string family;
    int episodes;
  };
  std::vector<Figure> figures;
  for (const auto& [family, episodes] :
       {FamilyEpisodes{"ptb", 24}, {"cifar10", 12}, {"nmt", 6}, {"inception_v3", 16}, {"nasnet", 8}}) {
    const std::vector<double> speedups = IncrementalSpeedups(family, effort.Repetitions(episodes));
    if (figures.empty()) figures.push_back(Summarize("simulator_incremental_speedup", "x", speedups));
    figures.push_back(Summarize(StrCat("simulator_incremental_speedup_", family), "x", speedups));
  }
  return figures;
}

}  // namespace emplace::bench
