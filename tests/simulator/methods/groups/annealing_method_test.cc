#include "simulator/methods/groups/annealing_method.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/error.h"
#include "simulator/methods/groups/budgeted_search.h"
#include "simulator/task/group_graph.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

MethodResult Anneal(const PlacementTask& task, int64_t budget, uint64_t seed = 1) {
  return AnnealingMethod({.budget = budget, .seed = seed}).Place(task);
}

// The best of all placements, by trying each one.
SearchScore BestOfAll(const PlacementTask& task) {
  const GroupGraph& graph = task.groups;
  const auto devices = static_cast<size_t>(graph.num_devices);
  std::vector<std::vector<uint8_t>> all = {{}};
  for (size_t node = 0; node < static_cast<size_t>(graph.num_groups); ++node) {
    std::vector<std::vector<uint8_t>> longer;
    for (const std::vector<uint8_t>& groups : all) {
      for (size_t device = 0; device < devices; ++device) {
        if (graph.allowed[node * devices + device] == 0) continue;
        longer.push_back(groups);
        longer.back().push_back(static_cast<uint8_t>(device));
      }
    }
    all = std::move(longer);
  }
  BudgetedSearch search(task, {.budget = std::ssize(all)});
  SearchScore best = search.Simulate(all.front());
  for (size_t i = 1; i < all.size(); ++i) best = std::min(best, search.Simulate(all[i]));
  return best;
}

SearchScore ScoreOf(const PlacementTask& task, const MethodResult& result) {
  const MethodScore score = Score(task, result);
  SearchScore shown{.makespan_us = score.makespan_us};
  for (size_t d = 0; d < score.peak_bytes.size(); ++d) {
    shown.bytes_over += std::max<int64_t>(0, score.peak_bytes[d] - task.sim.memory_bytes[d]);
  }
  return shown;
}

bool HasChoice(const PlacementTask& task) {
  return std::count(task.groups.allowed.begin(), task.groups.allowed.end(), 1) > task.groups.num_groups;
}

TEST(AnnealingMethod, FindsTheOptimumOfTinyGraphs) {
  int tasks = 0;
  int optimal = 0;
  for (uint64_t seed = 0; tasks < 400; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.max_ops = 30, .max_devices = 2, .max_groups = 6, .restricted = 0.1});
    if (!HasChoice(task)) continue;
    ++tasks;
    const SearchScore best = BestOfAll(task);
    const SearchScore found = ScoreOf(task, Anneal(task, 300));
    EXPECT_GE(found, best);
    if (found == best) ++optimal;
  }
  EXPECT_GE(optimal, tasks * 95 / 100) << "of " << tasks;
}

TEST(AnnealingMethod, IsNeverWorseThanOneDevice) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng);
    if (task.single_device < 0) continue;
    const SearchScore single = ScoreOf(task, MakeMethod("single", {})->Place(task));
    for (const int64_t budget : {1, 2, 50}) EXPECT_LE(ScoreOf(task, Anneal(task, budget)), single) << seed;
  }
}

TEST(AnnealingMethod, SpendsItsBudgetAndNoMore) {
  Rng rng(3);
  const PlacementTask task = RandomTask(rng, {.max_devices = 4});
  ASSERT_TRUE(HasChoice(task));
  for (int64_t budget = 1; budget <= 60; ++budget) EXPECT_EQ(Anneal(task, budget).evaluations, budget);
  EXPECT_EQ(Anneal(task, 1003).evaluations, 1003);
}

TEST(AnnealingMethod, SimulatesOnceWhereThereIsNoChoice) {
  Rng rng(5);
  const PlacementTask task = RandomTask(rng, {.max_devices = 1});
  EXPECT_EQ(Anneal(task, 100).evaluations, 1);
}

TEST(AnnealingMethod, IsDeterministicBySeed) {
  bool seeds_differ = false;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.restricted = 0.2});
    EXPECT_EQ(*Anneal(task, 80, 7).placement, *Anneal(task, 80, 7).placement);
    seeds_differ |= *Anneal(task, 80, 7).placement != *Anneal(task, 80, 8).placement;
  }
  EXPECT_TRUE(seeds_differ);
}

TEST(AnnealingMethod, WalksIntoTheMemory) {
  // Twelve ops of 10 us in a row. The first three have 30 bytes of parameters, the others 10: of 180 bytes in all a
  // device holds 100. Neither start of the search fits, not one device and not half the cost on each (3 * 30 + 3 * 10 =
  // 120).
  std::vector<Op> ops;
  for (int32_t o = 0; o < 12; ++o) {
    Op op;
    op.name = "op" + std::to_string(o);
    op.cost = OpCost::Everywhere(10);
    op.param_bytes = o < 3 ? 30 : 10;
    op.outputs = {{.bytes = 1, .shape = std::nullopt, .dtype = ""}};
    if (o > 0) op.inputs = {{o - 1, 0}};
    ops.push_back(op);
  }
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 100}, {"d:1", "x", 100}};
  cluster.bandwidth_bytes_per_us = 0.01;
  // One op a group: the automatic grouping would merge the chain.
  PlacementTask task;
  task.sim = SimGraph::Compile(OpGraph("chain", ops), cluster);
  task.groups.num_groups = 12;
  task.groups.num_devices = 2;
  task.groups.cost_us.assign(12, 1.0);
  task.groups.allowed.assign(12 * 2, 1);
  for (GroupIndex group = 0; group < 12; ++group) task.group_of_op.push_back(group);
  const MethodResult result = Anneal(task, 1000);
  EXPECT_TRUE(Score(task, result).feasible);
  // The first three apart from the rest: 12 ops of 10 us and one transfer of 1 byte at 0.01 bytes/us.
  EXPECT_EQ(Score(task, result).makespan_us, 12 * 10 + 100);
}

TEST(AnnealingMethod, KeepsToAllowedDevices) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.restricted = 0.4});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 12);
    EXPECT_NO_THROW(CheckPlacement(source.graph, source.cluster, *Anneal(task, 60).placement));
  }
}

TEST(AnnealingMethod, BeatsRandomOfTheSameBudget) {
  int better = 0;
  int worse = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {  // In every build: of fewer, the share is left to chance.
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.max_ops = 120, .max_devices = 4, .max_groups = 40});
    const SearchScore annealed = ScoreOf(task, Anneal(task, 1000));
    const SearchScore drawn = ScoreOf(task, MakeMethod("random", {.budget = 1000})->Place(task));
    if (annealed < drawn) ++better;
    if (annealed > drawn) ++worse;
  }
  EXPECT_GT(better, 10 * worse);
}

TEST(AnnealingMethod, RefusesAnEmptyBudget) { EXPECT_THROW(AnnealingMethod({.budget = 0}), Error); }

}  // namespace
}  // namespace emplace
