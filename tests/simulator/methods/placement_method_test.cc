#include "simulator/methods/placement_method.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "common/error.h"
#include "simulator/engine/simulator.h"
#include "simulator/methods/policy_method_options.h"
#include "tests/support/make_op.h"

namespace emplace {
namespace {

Cluster TwoDevices(const std::string& kind0, const std::string& kind1, int64_t memory_bytes) {
  Cluster cluster;
  cluster.devices = {{"d:0", kind0, memory_bytes}, {"d:1", kind1, memory_bytes}};
  cluster.bandwidth_bytes_per_us = 1000;
  return cluster;
}

// Four ops of 8 us side by side.
OpGraph Parallel(int64_t bytes) {
  std::vector<Op> ops;
  for (int i = 0; i < 4; ++i) ops.push_back(MakeOp("op" + std::to_string(i), 8, {}, {bytes}));
  return OpGraph("parallel", std::move(ops));
}

TEST(PlacementMethod, EveryNameMakesAMethod) {
  MethodOptions options;
  options.make_policy = [](const MethodOptions& own) { return MakeMethod("single", own); };  // Any will do.
  for (const std::string& name : MethodNames()) EXPECT_NE(MakeMethod(name, options), nullptr) << name;
}

TEST(PlacementMethod, UnknownNamesAndMissingPoliciesAreRefused) {
  EXPECT_THROW(MakeMethod("magic", {}), Error);
  EXPECT_THROW(MakeMethod("policy", {}), Error);
  EXPECT_THROW(MakeMethod("random", {.budget = 0}), Error);
}

// The text of the error; empty: none.
std::string ErrorOfOwnOptions(const std::map<std::string, std::string>& texts,
                              const std::vector<std::string>& methods) {
  try {
    MethodOptions options;
    SetOwnOptions(texts, methods, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OwnOptions, AreOfKnownMethodsAndHaveDefaultsThatAreAllowed) {
  const std::vector<std::string> methods = MethodNames();
  for (const OwnOption& option : OwnOptions()) {
    EXPECT_FALSE(option.field.help.empty()) << option.field.name;
    EXPECT_EQ(option.field.Parse(TextOf(option.value), option.value), option.value) << option.field.name;
    for (const std::string& method : option.methods)
      EXPECT_TRUE(std::ranges::find(methods, method) != methods.end()) << method;
  }
}

TEST(OwnOptions, AreSetByText) {
  MethodOptions options;
  SetOwnOptions({{"samples", "8"}}, {"single", "policy"}, options);
  EXPECT_EQ(PolicyMethodOptions::Table().Filled(options.own).samples, 8);
  EXPECT_EQ(PolicyMethodOptions::Table().Filled({}).samples, 0);
}

TEST(OwnOptions, AreRefusedWhereTheMethodLacksThemOrTheValueIsNotAllowed) {
  EXPECT_EQ(ErrorOfOwnOptions({{"samples", "8"}}, {"single", "heft"}),
            "option 'samples' is given to method single, heft, expected method auto or multilevel or policy");
  EXPECT_EQ(ErrorOfOwnOptions({{"sample", "8"}}, {"policy"}),
            "unknown option 'sample' of a method, did you mean 'samples'?");
  for (const std::string bad : {"-1", "8.5", "", "many", "1000001"}) {
    EXPECT_EQ(ErrorOfOwnOptions({{"samples", bad}}, {"policy"}), "samples is '" + bad + "', expected 0..1000000");
  }
}

TEST(SingleMethod, TakesTheFasterDevice) {
  const OpCost cost = OpCost::ByKind({{"slow", 30}, {"fast", 10}});
  const OpGraph graph("two", {MakeOp("a", cost, {}, {1}), MakeOp("b", cost, {{0, 0}}, {1})});
  const PlacementTask task = PlacementTask::Make(graph, TwoDevices("slow", "fast", 1000), 8);
  const MethodResult result = MakeMethod("single", {})->Place(task);
  ASSERT_TRUE(result.placement);
  EXPECT_EQ(*result.placement, (Placement{1, 1}));
  EXPECT_EQ(Score(task, result).makespan_us, 20);
}

TEST(SingleMethod, SaysWhenNoDeviceMayRunEverything) {
  const OpGraph graph(
      "split", {MakeOp("a", OpCost::ByKind({{"x", 1}}), {}, {1}), MakeOp("b", OpCost::ByKind({{"y", 1}}), {}, {1})});
  const PlacementTask task = PlacementTask::Make(graph, TwoDevices("x", "y", 1000), 8);
  const MethodResult result = MakeMethod("single", {})->Place(task);
  EXPECT_FALSE(result.placement);
  EXPECT_FALSE(Score(task, result).feasible);
  EXPECT_TRUE(std::isinf(Score(task, result).makespan_us));
}

TEST(RandomMethod, IsDeterministicBySeedAndNeverBeatsTheBestOfAll) {
  const PlacementTask task = PlacementTask::Make(Parallel(1), TwoDevices("x", "x", 1000), 8);
  Simulator simulator(task.sim);
  double best = std::numeric_limits<double>::infinity();
  for (int bits = 0; bits < 16; ++bits) {
    best = std::min(best, simulator.Makespan(Placement{bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 3 & 1}));
  }
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const MethodResult once = MakeMethod("random", {.budget = 5, .seed = seed})->Place(task);
    const MethodResult again = MakeMethod("random", {.budget = 5, .seed = seed})->Place(task);
    EXPECT_EQ(*once.placement, *again.placement);
    EXPECT_EQ(once.evaluations, 5);
    EXPECT_GE(Score(task, once).makespan_us, best);
  }
  // 200 draws of 16 placements find the even split.
  EXPECT_EQ(Score(task, MakeMethod("random", {.budget = 200})->Place(task)).makespan_us, best);
}

TEST(RandomMethod, PrefersWhatFitsTheMemory) {
  // Each op holds 10 bytes while it runs; the parameters (40 bytes each) fit only two and two.
  std::vector<Op> ops;
  for (int i = 0; i < 4; ++i) {
    ops.push_back(MakeOp("op" + std::to_string(i), OpCost::ByKind({{"slow", 80}, {"fast", 1}}), {}, {10}));
    ops.back().param_bytes = 40;
  }
  const PlacementTask task = PlacementTask::Make(OpGraph("memory", ops), TwoDevices("slow", "fast", 100), 8);
  const MethodResult result = MakeMethod("random", {.budget = 300})->Place(task);
  EXPECT_TRUE(Score(task, result).feasible);
  EXPECT_EQ(std::count(result.placement->begin(), result.placement->end(), 1), 2);
}

}  // namespace
}  // namespace emplace
