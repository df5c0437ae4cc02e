#include "simulator/methods/lists/units/list_method.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "common/files/shipped_files.h"
#include "simulator/families/family.h"
#include "simulator/families/program/device_kind.h"
#include "simulator/methods/lists/disciplines.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

MethodResult ListOf(const PlacementTask& task, double join = 1e9) {
  return ListMethod({.own = {{"join", join}, {"passes", int64_t{1}}}}).Place(task);
}

TEST(ListMethod, GoesByUpwardRankAndEarliestFinish) {
  // As HEFT on this graph, worked out in list_schedulers_test.cc: with transfers twice as long the ranks are d 10, b
  // 50, c 60, a 90, and nothing else differs.
  const PlacementTask task = HandTask(Diamond(), HandCluster(2));
  const MethodResult result = ListOf(task);
  EXPECT_EQ(*result.placement, (Placement{0, 1, 0, 0}));
  EXPECT_EQ(Score(task, result).makespan_us, 60);
}

TEST(ListMethod, PutsAParameterWhereItIsReadFirst) {
  // Only device 1 is quick at what reads the parameter; HEFT would put the parameter, which costs nothing, on device 0.
  std::vector<Op> ops = {HandOp("w", 0, {}), HandOp("read", 0, {0})};
  ops[0].param_bytes = 1000;
  ops[1].cost = OpCost::ByKind({{"x", 500}, {"y", 20}});
  Cluster cluster = HandCluster(2);
  cluster.devices[1].kind = "y";
  EXPECT_EQ(*ListOf(HandTask(ops, cluster)).placement, (Placement{1, 1}));
}

TEST(ListMethod, AParameterThatOneDeviceAloneMayHoldTakesNoDeviceFromItsReader) {
  std::vector<Op> ops = {HandOp("w", 0, {}, 10), HandOp("read", 0, {0})};
  ops[0].allowed = {"x"};
  ops[1].cost = OpCost::ByKind({{"x", 500}, {"y", 20}});
  Cluster cluster = HandCluster(2);
  cluster.devices[1].kind = "y";
  const PlacementTask task = HandTask(ops, cluster);
  EXPECT_EQ(*ListOf(task).placement, (Placement{0, 1}));
  EXPECT_EQ(*ListOf(task, 0).placement, (Placement{0, 1}));  // The two are not joined to one unit either.
}

TEST(ListMethod, FindsAPlacementThatFitsWhereThereIsOne) {
  int fits = 0;
  for (uint64_t seed = 0; seed < Trials(60); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 60, .parameters = 4});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 12);
    const MethodResult list = ListMethod({}).Place(task);
    ASSERT_TRUE(list.placement) << "seed " << seed;
    const bool heft_fits = Score(task, MakeMethod("heft", {})->Place(task)).feasible;
    fits += (Score(task, list).feasible ? 1 : 0) - (heft_fits ? 1 : 0);
  }
  EXPECT_GE(fits, -2);
}

MethodResult InRankOrder(const std::string& method, const PlacementTask& task) {
  MethodResult result = MakeMethod(method, {})->Place(task);
  SetOrder("rank", task, result);
  return result;
}

// What it is for: no other constructor is as good in the mean.
TEST(ListMethod, BeatsEachOtherConstructorInTheOrderOfItsRanks) {
  std::map<std::string, double> log_ratio;  // Sum over pairs of a graph and a machine.
  for (const std::string family : {"ptb", "nmt", "cifar10"}) {
    const OpGraph graph =
        GenerateFamily({.family = family, .count = 1, .train = 1}, LoadDeviceKinds(DefaultKindsFolder())).graphs[0];
    for (const int devices : {2, 4}) {
      const PlacementTask task = PlacementTask::Make(graph, K80Cluster(devices), 128);
      const double list_us = Score(task, ListMethod({}).Place(task)).makespan_us;
      for (const std::string method : {"heft", "m-etf", "expert", "scotch"})
        log_ratio[method] += std::log(list_us / Score(task, InRankOrder(method, task)).makespan_us);
    }
  }
  for (const auto& [method, sum] : log_ratio) EXPECT_LT(sum, 0) << method;
}

TEST(ListMethod, GivesNoOrderWhereNoneIsWanted) {
  Rng rng(1);
  const RandomTaskSource source = RandomSource(rng, {.max_ops = 60});
  const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 12);
  EXPECT_TRUE(ListMethod({.orders = false}).Place(task).orders.empty());
}

}  // namespace
}  // namespace emplace
