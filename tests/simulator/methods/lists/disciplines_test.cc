#include "simulator/methods/lists/disciplines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "simulator/families/family.h"
#include "simulator/methods/fallback.h"
#include "simulator/methods/lists/dispatch.h"
#include "simulator/methods/lists/upward_rank.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/bad_input.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// A random task with a random legal placement of its groups. A third of the ops are copies of earlier ops, without
// regard to the graph: no discipline may rely on what micro-batches look like.
struct PlacedTask {
  OpGraph graph;
  Cluster cluster;
  PlacementTask task;
  Placement placement;
};

PlacedTask RandomPlacedTask(Rng& rng, LinkModel link_model) {
  RandomTaskSource source = RandomSource(rng, {.restricted = 0.2, .link_model = link_model});
  std::vector<Op> ops = source.graph.ops();
  for (size_t o = 1; o < ops.size(); ++o) {
    const auto original = static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(o) - 1));
    const bool copies = rng.UniformInt(0, 2) == 0 && ops[original].copy_of == Op::kNoCopy;
    if (copies) ops[o].copy_of = static_cast<OpIndex>(original);
  }
  OpGraph graph("copies", std::move(ops));
  PlacementTask task = PlacementTask::Make(graph, source.cluster, 20);
  std::vector<uint8_t> groups;
  for (int32_t node = 0; node < task.groups.num_groups; ++node) {
    groups.push_back(static_cast<uint8_t>(RandomAllowedDevice(task.groups, node, rng)));
  }
  Placement placement(static_cast<size_t>(graph.num_ops()));
  task.Expand(groups, placement);
  return {std::move(graph), std::move(source.cluster), std::move(task), std::move(placement)};
}

TEST(Disciplines, MakeOrdersThatCanBeFollowed) {
  for (uint64_t seed = 0; seed < Trials(300); ++seed) {
    Rng rng(seed);
    const PlacedTask placed = RandomPlacedTask(rng, static_cast<LinkModel>(seed % 3));
    for (const std::string& name : DisciplineNames()) {
      const ChosenOrder chosen = OrderBy(name, ScheduleGraph(placed.task), placed.placement);
      EXPECT_NO_THROW(CheckOrders(placed.graph, placed.cluster, placed.placement, chosen.orders)) << name << seed;
      EXPECT_EQ(chosen.score, PlacementScorer(placed.task, chosen.orders).Score(placed.placement));
      EXPECT_EQ(OrderBy(name, ScheduleGraph(placed.task), placed.placement).orders, chosen.orders);
      size_t ordered = 0;
      for (const std::vector<OpIndex>& order : chosen.orders) ordered += order.size();
      EXPECT_EQ(ordered, placed.placement.size()) << name;
    }
  }
}

TEST(Disciplines, BestIsTheBestOfAll) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const PlacedTask placed = RandomPlacedTask(rng, static_cast<LinkModel>(seed % 3));
    const ChosenOrder best = BestOrder(ScheduleGraph(placed.task), placed.placement);
    EXPECT_EQ(OrderBy(best.discipline, ScheduleGraph(placed.task), placed.placement).orders, best.orders);
    for (const std::string& name : DisciplineNames()) {
      if (name == "least-memory" && best.score.bytes_over == 0) continue;  // Not tried where others fit.
      EXPECT_LE(best.score, OrderBy(name, ScheduleGraph(placed.task), placed.placement).score)
          << name << ", seed " << seed;
    }
    EXPECT_EQ(OrderBy("arrival", ScheduleGraph(placed.task), placed.placement).score,
              PlacementScorer(placed.task).Score(placed.placement));
  }
}

TEST(Disciplines, AnUnknownOneIsRefused) {
  const PlacementTask task = HandTask(Diamond(), HandCluster(2));
  EXPECT_THAT(BadInputOf([&] {
                OrderBy("fifo", ScheduleGraph(task), Placement{0, 0, 0, 0});
              }),
              testing::HasSubstr(
                  "unknown order 'fifo', expected one of: arrival, rank, depth-first, 1f1b, least-memory, best"));
}

TEST(Disciplines, RankPutsTheLongestWayFirst) {
  // a -> b, and c -> d -> e: c is ready with a, but has 30 us before it, a only 20.
  const std::vector<Op> ops = {HandOp("a", 10, {}), HandOp("b", 10, {0}), HandOp("c", 10, {}), HandOp("d", 10, {2}),
                               HandOp("e", 10, {3})};
  const PlacementTask task = HandTask(ops, HandCluster(1));
  EXPECT_EQ(OrderBy("rank", ScheduleGraph(task), Placement(5, 0)).orders, (DeviceOrders{{2, 0, 3, 1, 4}}));
}

TEST(UpwardRank, CountsTransfersBetweenDevicesAlone) {
  // a (10) -> b (20), c (30) -> d (10), 10 us for each tensor that goes to another device; c alone is on d:1.
  const PlacementTask task = HandTask(Diamond(), HandCluster(2));
  const ScheduleGraph graph(task);
  EXPECT_EQ(PlacedUpwardRanksUs(graph, Placement{0, 0, 1, 0}), (std::vector<double>{70, 30, 50, 10}));
  EXPECT_EQ(MeanUpwardRanksUs(graph), (std::vector<double>{70, 40, 50, 10}));
}

// `stages` devices, with a forward op (10 us) and a backward op (10 us) of each micro-batch on each; free transfers.
// Ops by micro-batch: f of all stages, then g of all stages, the last one first. Only f holds memory.
PlacementTask Pipeline(int32_t stages, int32_t microbatches) {
  std::vector<Op> ops;
  for (int32_t i = 0; i < microbatches; ++i) {
    for (int32_t op = 0; op < 2 * stages; ++op) {
      const auto before = static_cast<OpIndex>(ops.size()) - 1;
      const std::string name = (op < stages ? "f" : "g") + std::to_string(op) + "/" + std::to_string(i);
      std::vector<OpIndex> inputs;
      if (op > 0) inputs.push_back(before);
      ops.push_back(HandOp(name, 10, inputs, 0));
      if (op >= stages) {  // The backward op reads what the forward op of its stage has kept.
        const OpIndex forward = i * 2 * stages + 2 * stages - 1 - op;
        ops.back().inputs.push_back({forward, 1});
      } else {
        ops.back().outputs.push_back({.bytes = 100, .shape = std::nullopt, .dtype = ""});
      }
    }
  }
  PlacementTask task = HandTask(ops, HandCluster(stages));
  for (size_t o = 0; o < ops.size(); ++o) {
    task.microbatch_of_op[o] = static_cast<int32_t>(o) / (2 * stages);
  }
  return task;
}

Placement PipelinePlacement(int32_t stages, int32_t microbatches) {
  Placement placement;
  for (int32_t i = 0; i < microbatches; ++i) {
    for (int32_t op = 0; op < 2 * stages; ++op) placement.push_back(std::min(op, 2 * stages - 1 - op));
  }
  return placement;
}

TEST(Disciplines, OneForwardOneBackwardIsThatOfThePaper) {
  // Two stages, three micro-batches. Ops of micro-batch i: 4 i (f0), 4 i + 1 (f1), 4 i + 2 (g1), 4 i + 3 (g0).
  const ChosenOrder chosen = OrderBy("1f1b", ScheduleGraph(Pipeline(2, 3)), PipelinePlacement(2, 3));
  EXPECT_EQ(chosen.orders[0], (std::vector<OpIndex>{0, 4, 3, 8, 7, 11}));  // f f g f g g
  EXPECT_EQ(chosen.orders[1], (std::vector<OpIndex>{1, 2, 5, 6, 9, 10}));  // f g f g f g
}

TEST(Disciplines, OneForwardOneBackwardHoldsAsManyMicrobatchesAsDevicesFollow) {
  for (const int32_t stages : {2, 3, 5}) {
    const int32_t microbatches = 3 * stages;
    const PlacementTask task = Pipeline(stages, microbatches);
    const Placement placement = PipelinePlacement(stages, microbatches);
    const ChosenOrder chosen = OrderBy("1f1b", ScheduleGraph(task), placement);
    // As fast as can be: the first stage is never idle but for the way of the first micro-batch to it, and of the last.
    EXPECT_EQ(chosen.score.makespan_us, 10 * (2 * microbatches + 2 * (stages - 1)));
    Simulator simulator(task.sim, chosen.orders);
    const std::vector<int64_t> peak_bytes = simulator.Run(placement).peak_bytes;
    for (int32_t stage = 0; stage < stages; ++stage) {
      EXPECT_EQ(peak_bytes[static_cast<size_t>(stage)], 100 * (stages - stage)) << stages << " stages";
    }
    // By arrival the first stage begins all micro-batches before it ends one.
    EXPECT_EQ(Simulator(task.sim).Run(placement).peak_bytes[0], 100 * microbatches) << stages << " stages";
  }
}

TEST(Disciplines, TheBestOfThoseTriedCountsWhereTheTimeIsOver) {
  const std::atomic<bool> over = true;
  PlacementTask task = Pipeline(2, 3);
  task.sim.memory_bytes = {200, 200};
  const ScheduleGraph graph(task, &over);
  const Placement placement = PipelinePlacement(2, 3);
  EXPECT_EQ(BestOrder(ScheduleGraph(task), placement).score.bytes_over, 0);
  EXPECT_EQ(BestOrder(graph, placement).discipline, "arrival");
  EXPECT_EQ(BestOrder(graph, placement).orders, OrderBy("arrival", graph, placement).orders);
}

TEST(Disciplines, AnOrderThatAResultHasStaysWhereTheTimeIsOver) {
  const std::atomic<bool> over = true;
  const PlacementTask task = Pipeline(2, 3);
  MethodResult result;
  result.placement = PipelinePlacement(2, 3);
  SetOrder("1f1b", task, result);
  const DeviceOrders orders = result.orders;
  EXPECT_EQ(orders, OrderBy("1f1b", ScheduleGraph(task), *result.placement).orders);
  SetOrder("best", task, result, &over);
  EXPECT_EQ(result.orders, orders);
  EXPECT_EQ(result.discipline, "1f1b");
}

TEST(Disciplines, MethodsHaveTheOrderThatTheyAreAskedFor) {
  const PlacementTask task = Pipeline(2, 3);
  for (const std::string& name : OrderNames()) {
    const MethodResult result = MakeMethod("auto", {.budget = 100, .order = name})->Place(task);
    const ChosenOrder order = OrderNamed(name, ScheduleGraph(task), *result.placement);
    EXPECT_EQ(result.orders, order.orders) << name;
    EXPECT_EQ(result.discipline, order.discipline) << name;
  }
}

TEST(Dispatch, StartsSomethingWhereLimitsForbidEverything) {
  // The op of the second micro-batch comes first, and no device may begin the second before the first.
  PlacementTask task = HandTask({HandOp("late", 10, {}), HandOp("early", 10, {0})}, HandCluster(1));
  task.microbatch_of_op = {1, 0};
  EXPECT_EQ(OrderBy("1f1b", ScheduleGraph(task), Placement{0, 0}).orders, (DeviceOrders{{0, 1}}));
}

TEST(Disciplines, MethodOrSingleDeviceComparesInTheOrder) {
  const std::vector<DeviceKind> kinds = LoadDeviceKinds(DefaultKindsFolder());
  const OpGraph graph =
      GenerateFamily({.family = "ptb", .count = 1, .train = 1, .size = "small", .microbatches = 4}, kinds).graphs[0];
  const Cluster cluster = K80Cluster(2);
  const PlacementTask task = PlacementTask::Make(graph, cluster, 128);
  MethodResult result = MakeMethod("expert", {})->Place(task);
  const MethodScore by_arrival = Score(task, result);
  SetOrder("best", task, result);
  const std::optional<ChosenPlacement> chosen = MethodOrSingleDevice(task, result, Score(task, result), "best");
  ASSERT_TRUE(chosen && !chosen->fallback);
  EXPECT_EQ(chosen->orders, result.orders);
  EXPECT_EQ(chosen->discipline, result.discipline);
  EXPECT_EQ(chosen->score.makespan_us, BestOrder(ScheduleGraph(task), *result.placement).score.makespan_us);
  EXPECT_LT(chosen->score.makespan_us, by_arrival.makespan_us);
  // On one device an order shortens nothing, but it holds fewer activations.
  MethodResult single = MakeMethod("single", {})->Place(task);
  const MethodScore queued = Score(task, single);
  SetOrder("1f1b", task, single);
  EXPECT_NEAR(Score(task, single).makespan_us, queued.makespan_us, 1e-6);  // The same times, added in another order.
  EXPECT_LT(Score(task, single).peak_bytes[0], queued.peak_bytes[0]);
}

}  // namespace
}  // namespace emplace
