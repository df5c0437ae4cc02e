// What holds for every method: legal, deterministic, and never better than the best of all placements.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "common/error.h"
#include "simulator/graph/placement.h"
#include "simulator/methods/exact/optimal_method.h"
#include "simulator/methods/placement_scorer.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

std::vector<std::string> NamesWithoutPolicy() {
  std::vector<std::string> names;
  for (const std::string& name : MethodNames()) {
    if (name != "policy") names.push_back(name);
  }
  return names;
}

SearchScore SearchScoreOf(const PlacementTask& task, const MethodResult& result) {
  return PlacementScorer(task).Score(*result.placement);
}

// Groups as fine as they get, so that all methods choose among the same placements.
PlacementTask Tiny(Rng& rng, LinkModel link_model) {
  const RandomTaskSource source =
      RandomSource(rng, {.max_ops = 9, .max_devices = 3, .restricted = 0.1, .link_model = link_model});
  return PlacementTask::Make(source.graph, source.cluster, source.graph.num_ops());
}

TEST(EveryMethod, MayBeToldToStopBeforeItBegins) {
  const std::atomic<bool> stop = true;
  Rng rng(1);
  const RandomTaskSource source = RandomSource(rng, {.max_ops = 9, .max_devices = 3});
  const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, source.graph.num_ops());
  for (const std::string& name : NamesWithoutPolicy()) {
    const auto method = MakeMethod(name, {.budget = 0, .seconds = 1e6, .stop = &stop});
    try {
      const MethodResult result = method->Place(task);
      if (result.placement) CheckPlacement(source.graph, source.cluster, *result.placement);
    } catch (const Stopped&) {
      EXPECT_FALSE(method->searches()) << name;  // These return what they have, if it is nothing.
    }
  }
}

// As where another thread had the core since the time began.
TEST(EveryMethod, MayBeginWhenMostOfItsTimeIsOver) {
  Rng rng(1);
  const RandomTaskSource source = RandomSource(rng, {.max_ops = 40, .max_devices = 3});
  const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, source.graph.num_ops());
  for (const std::string& name : NamesWithoutPolicy()) {
    for (const double share : {0.5, 0.8, 0.95, 2.0}) {
      MethodOptions options{.budget = 0, .seconds = 0.05};
      const std::chrono::duration<double> over(share * options.seconds);
      options.begin = StopSignal::Clock::now() - std::chrono::duration_cast<StopSignal::Clock::duration>(over);
      const MethodResult result = MakeMethod(name, options)->Place(task);
      if (result.placement) CheckPlacement(source.graph, source.cluster, *result.placement);
    }
  }
}

// Two devices, each of which alone may run some op.
RandomTaskSource Divided(Rng& rng) {
  RandomTaskSource source = RandomSource(rng, {.max_ops = 40, .max_devices = 2});
  source.cluster = HandCluster(2);
  source.cluster.devices[1].kind = "y";
  std::vector<Op> ops = source.graph.ops();
  for (size_t op = 0; op < ops.size(); ++op) {
    ops[op].cost = OpCost::Everywhere(5);
    ops[op].group.clear();
    ops[op].allowed.clear();
    if (op % 3 == 0) ops[op].allowed = {op % 2 == 0 ? "x" : "y"};
  }
  source.graph = OpGraph("divided", std::move(ops));
  return source;
}

TEST(EveryMethod, TakesATimeWhereNoSingleDeviceMayRunEveryOp) {
  for (uint64_t seed = 0; seed < Trials(8); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = Divided(rng);
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 12);
    for (const std::string& name : NamesWithoutPolicy()) {
      for (const Objective objective : {Objective::kLatency, Objective::kThroughput}) {
        if (!CanMinimize(name, objective)) continue;
        const MethodOptions options{.budget = 0, .seconds = 0.02, .seed = seed, .objective = objective};
        const MethodResult result = MakeMethod(name, options)->Place(task);
        if (result.placement) CheckPlacement(source.graph, source.cluster, *result.placement);
        EXPECT_TRUE(result.placement || (name != "auto" && name != "multilevel")) << name << ", seed " << seed;
      }
    }
  }
}

TEST(EveryMethod, IsNeverBetterThanTheOptimum) {
  std::map<std::string, double> log_ratio;
  int tasks = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const PlacementTask task = Tiny(rng, static_cast<LinkModel>(seed % 3));
    const SearchScore best = SearchScoreOf(task, OptimalMethod({}).Place(task));
    if (best.bytes_over > 0 || best.makespan_us == 0) continue;
    ++tasks;
    for (const std::string& name : NamesWithoutPolicy()) {
      const MethodResult result = MakeMethod(name, {.budget = 60, .seed = seed})->Place(task);
      if (!result.placement) continue;
      const SearchScore score = SearchScoreOf(task, result);
      log_ratio[name] += std::log(score.makespan_us / best.makespan_us);
      // These may split the chains that the groups of `optimal` keep together.
      if (name == "auto" || name == "multilevel" || name == "dp" || name == "list") continue;
      EXPECT_GE(score, best) << name << ", seed " << seed;
    }
  }
  EXPECT_GT(tasks, 100);
  // On tiny random graphs of every kind; scotch and m-topo do not look at the order, so they have no bound here.
  for (const char* const name :
       {"heft", "m-etf", "m-sct", "random", "local-search", "annealing", "auto", "multilevel"}) {
    EXPECT_LT(std::exp(log_ratio[name] / tasks), 1.5) << name;
  }
  for (const auto& [name, sum] : log_ratio) RecordProperty(name, std::to_string(std::exp(sum / tasks)));
}

TEST(EveryMethod, IsLegalAndDeterministicAndKnowsItsScore) {
  for (uint64_t seed = 0; seed < Trials(60); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source =
        RandomSource(rng, {.restricted = 0.3, .link_model = static_cast<LinkModel>(seed % 3)});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 6);
    for (const std::string& name : NamesWithoutPolicy()) {
      const MethodOptions options{.budget = 30, .seed = seed};
      const MethodResult result = MakeMethod(name, options)->Place(task);
      if (!result.placement) continue;
      EXPECT_NO_THROW(CheckPlacement(source.graph, source.cluster, *result.placement)) << name;
      EXPECT_EQ(MakeMethod(name, options)->Place(task).placement, result.placement) << name;
      const bool knows =
          name == "heft" || name == "m-etf" || name == "scotch" || name == "annealing" || name == "optimal";
      EXPECT_TRUE(result.score || !knows) << name;
      if (result.score) {
        EXPECT_EQ(*result.score, SearchScoreOf(task, result)) << name;
      }
    }
  }
}

// The next number in base D, digit by digit; false after the last.
bool CountUp(std::vector<uint8_t>& digits, size_t base) {
  for (uint8_t& digit : digits) {
    if (++digit < base) return true;
    digit = 0;
  }
  return false;
}

TEST(EveryMethod, OptimalIsTheBestOfAllPlacements) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const PlacementTask task = Tiny(rng, static_cast<LinkModel>(seed % 3));
    PlacementScorer scorer(task);
    const auto devices = static_cast<size_t>(task.groups.num_devices);
    std::vector<uint8_t> groups(static_cast<size_t>(task.groups.num_groups));
    Placement ops(static_cast<size_t>(task.sim.num_ops));
    std::optional<SearchScore> best;
    do {
      bool legal = true;
      for (size_t g = 0; g < groups.size(); ++g) legal &= task.groups.allowed[g * devices + groups[g]] == 1;
      if (!legal) continue;
      task.Expand(groups, ops);
      const SearchScore score = scorer.Score(ops);
      if (!best || score < *best) best = score;
    } while (CountUp(groups, devices));
    EXPECT_EQ(SearchScoreOf(task, OptimalMethod({}).Place(task)), *best) << seed;
  }
}

TEST(EveryMethod, OptimalSaysWhenAGraphIsTooLarge) {
  std::vector<Op> ops;
  for (int o = 0; o < 25; ++o) ops.push_back(HandOp("op" + std::to_string(o), 1, {}));
  try {
    OptimalMethod({}).Place(HandTask(ops, HandCluster(2)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("25 groups"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("--max-groups"), std::string::npos);
  }
}

// 50,000 ops, three inputs each: what is not near-linear would not come back.
TEST(EveryMethod, TheOnesWithoutASearchTakeLargeGraphs) {
  constexpr auto kOps = static_cast<int32_t>(Trials(50000));
  Rng rng(1);
  std::vector<Op> ops;
  for (int32_t o = 0; o < kOps; ++o) {
    std::vector<OpIndex> inputs;
    for (int i = 0; i < 3 && o > 0; ++i) {
      const auto input = static_cast<OpIndex>(rng.UniformInt(std::max(0, o - 100), o - 1));
      if (std::find(inputs.begin(), inputs.end(), input) == inputs.end()) inputs.push_back(input);
    }
    ops.push_back(HandOp("op" + std::to_string(o), static_cast<double>(rng.UniformInt(1, 100)), inputs));
  }
  const PlacementTask task = HandTask(ops, HandCluster(4, 1000000000));
  for (const char* const name : {"expert", "data-parallel", "scotch", "heft", "m-topo", "m-etf"}) {
    EXPECT_TRUE(MakeMethod(name, {})->Place(task).placement.has_value()) << name;
  }
}

}  // namespace
}  // namespace emplace
