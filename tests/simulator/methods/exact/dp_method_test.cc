#include "simulator/methods/exact/dp_method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "simulator/methods/max_load.h"
#include "simulator/methods/placement_scorer.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/bad_input.h"
#include "tests/support/random_run.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

MethodResult PlaceByDp(const PlacementTask& task, Objective objective) {
  return DpMethod({.objective = objective}).Place(task);
}

TEST(MaxLoad, CountsWorkOverheadsAndEachTensorOnceAtEachEnd) {
  // a (10 us) and d (10) on d:0, b (20) on d:1, c (30) on d:2, each op with 2 us of overhead. A transfer takes 10 us
  // and 1 us of overhead. d:0 sends a's tensor once, to both, and receives two; d:1 and d:2 receive one and send one.
  Cluster cluster = HandCluster(3);
  cluster.op_overhead_us = 2;
  cluster.transfer_overhead_us = 1;
  const PlacementTask task = HandTask(Diamond(), cluster);
  EXPECT_EQ(MaxLoadUs(task.sim, Placement{0, 1, 2, 0}), std::max(12.0 + 12 + 3 * 11, 32.0 + 2 * 11));
  EXPECT_EQ(MaxLoadUs(task.sim, Placement{0, 0, 2, 0}), 12.0 + 22 + 12 + 2 * 11);
  EXPECT_EQ(MaxLoadUs(task.sim, Placement{1, 1, 1, 1}), 12.0 + 22 + 32 + 12);
  // Where each reader gets a transfer of its own, d:0 sends a's tensor twice.
  cluster.link_model = LinkModel::kPerDestination;
  const PlacementTask each = HandTask(Diamond(), cluster);
  EXPECT_EQ(MaxLoadUs(each.sim, Placement{0, 1, 2, 0}), std::max(12.0 + 12 + 4 * 11, 32.0 + 2 * 11));
}

// By the transfers of a run, and who reads what they carry.
TEST(MaxLoad, IsForHowLongARunKeepsDevicesAndTheirLinksBusy) {
  for (uint64_t seed = 0; seed < Trials(300); ++seed) {
    const auto& [graph, cluster, placement, sim, run] = MakeRandomRun(seed);
    std::vector<double> loads_us(cluster.devices.size());
    for (OpIndex op = 0; op < sim.num_ops; ++op) {
      const DeviceIndex device = placement[static_cast<size_t>(op)];
      loads_us[static_cast<size_t>(device)] += sim.BusyUs(op, device);
    }
    for (const Transfer& transfer : run.transfers) {
      std::set<DeviceIndex> ends = {transfer.from};
      for (const OpIndex reader : sim.tensor_consumers.Row(transfer.tensor)) {
        const DeviceIndex device = placement[static_cast<size_t>(reader)];
        if (transfer.to == Transfer::kAllReaders || device == transfer.to) ends.insert(device);
      }
      for (const DeviceIndex end : ends) loads_us[static_cast<size_t>(end)] += transfer.free_us - transfer.start_us;
    }
    const double most_us = *std::ranges::max_element(loads_us);
    ASSERT_NEAR(MaxLoadUs(sim, placement), most_us, 1e-9 * (1 + most_us)) << "seed " << seed;
  }
}

// Whether the devices have an order in which all tensors lead on.
bool LeadsOn(const std::vector<Op>& ops, const Placement& placement, int32_t devices) {
  std::vector<DeviceIndex> order;
  for (DeviceIndex d = 0; d < devices; ++d) order.push_back(d);
  do {
    bool leads_on = true;
    for (size_t o = 0; o < ops.size(); ++o) {
      for (const OpInput& input : ops[o].inputs) {
        const DeviceIndex from = placement[static_cast<size_t>(input.producer)];
        leads_on &= std::find(order.begin(), order.end(), from) <= std::find(order.begin(), order.end(), placement[o]);
      }
    }
    if (leads_on) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

TEST(Dp, HasTheLeastLoadOfAllContiguousPlacements) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    std::vector<Op> ops;
    const auto n = static_cast<OpIndex>(rng.UniformInt(1, 7));
    for (OpIndex o = 0; o < n; ++o) {
      std::vector<OpIndex> inputs;
      for (OpIndex producer = 0; producer < o; ++producer) {
        if (rng.UniformInt(0, 2) == 0) inputs.push_back(producer);
      }
      ops.push_back(
          HandOp("op" + std::to_string(o), static_cast<double>(rng.UniformInt(0, 40)), inputs, rng.UniformInt(0, 200)));
    }
    const PlacementTask task = HandTask(ops, HandCluster(static_cast<int>(rng.UniformInt(1, 3))));
    double least_us = std::numeric_limits<double>::infinity();
    Placement placement(ops.size(), 0);
    for (size_t digit = 0; digit < placement.size();) {
      if (LeadsOn(ops, placement, task.sim.num_devices)) least_us = std::min(least_us, MaxLoadUs(task.sim, placement));
      for (digit = 0; digit < placement.size() && ++placement[digit] == task.sim.num_devices; ++digit) {
        placement[digit] = 0;
      }
    }
    EXPECT_NEAR(MaxLoadUs(task.sim, *PlaceByDp(task, Objective::kThroughput).placement), least_us, 1e-9) << seed;
  }
}

TEST(Dp, EachObjectiveIsServedBestByItsOwnPlacement) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const PlacementTask task =
        RandomTask(rng, {.memory_bytes = 1'000'000, .link_model = static_cast<LinkModel>(seed % 3)});
    const MethodResult fast = PlaceByDp(task, Objective::kLatency);
    const MethodResult even = PlaceByDp(task, Objective::kThroughput);
    EXPECT_LE(Score(task, fast).makespan_us, Score(task, even).makespan_us) << seed;
    EXPECT_LE(MaxLoadUs(task.sim, *even.placement), MaxLoadUs(task.sim, *fast.placement)) << seed;
    const MethodResult single = MakeMethod("single", {})->Place(task);
    if (!single.placement) continue;
    EXPECT_LE(MaxLoadUs(task.sim, *even.placement), MaxLoadUs(task.sim, *single.placement) + 1e-6) << seed;
  }
}

TEST(Dp, AStageKeepsItsForwardAndBackwardOpsTogether) {
  // f0 -> f1 -> g1 -> g0, 20 us each; g0 reads f0's tensor too. From f1 to g1 go 100 us, otherwise 10 us.
  std::vector<Op> ops = {HandOp("f0", 20, {}), HandOp("f1", 20, {0}, 1000), HandOp("g1", 20, {1}),
                         HandOp("g0", 20, {0, 2})};
  PlacementTask task = HandTask(ops, HandCluster(2));
  // f0 alone: 30 us there, and 20 + 20 + 20 + 10 elsewhere.
  EXPECT_EQ(MaxLoadUs(task.sim, *PlaceByDp(task, Objective::kThroughput).placement), 70);
  task.stage_of_op = {0, 1, 1, 0};
  const Placement placement = *PlaceByDp(task, Objective::kThroughput).placement;
  EXPECT_EQ(placement, (Placement{0, 1, 1, 0}));  // 40 us of work and two tensors each.
  EXPECT_EQ(MaxLoadUs(task.sim, placement), 60);
}

TEST(Dp, KeepsWithinTheMemory) {
  // By Placeto's rule every op holds its 100 bytes to the end, where `last` reads all of them: nine ops in rooms of
  // 400. With 40 devices a table of which of them are used would not fit this computer.
  std::vector<Op> ops;
  std::vector<OpIndex> all;
  for (OpIndex o = 0; o < 9; ++o) {
    ops.push_back(HandOp("op" + std::to_string(o), o == 0 ? 1000 : 1, o == 0 ? all : std::vector<OpIndex>{o - 1}));
    all.push_back(o);
  }
  ops.push_back(HandOp("last", 1, all, 0));
  for (const int devices : {3, 40}) {
    Cluster cluster = HandCluster(devices, 400);
    cluster.memory_rule = MemoryRule::kPlaceto;
    const PlacementTask task = HandTask(ops, cluster);
    for (const Objective objective : {Objective::kLatency, Objective::kThroughput}) {
      const MethodResult result = PlaceByDp(task, objective);
      EXPECT_TRUE(Score(task, result).feasible);
    }
    EXPECT_FALSE(Score(task, MakeMethod("single", {})->Place(task)).feasible);
  }
}

TEST(Objective, IsOneThatTheMethodKnows) {
  EXPECT_EQ(ObjectiveNamed("latency"), Objective::kLatency);
  EXPECT_EQ(ObjectiveNamed("throughput"), Objective::kThroughput);
  EXPECT_THAT(BadInputOf([] { ObjectiveNamed("speed"); }),
              testing::HasSubstr("unknown objective 'speed', expected one of: latency, throughput"));
  EXPECT_THAT(BadInputOf([] { MakeMethod("heft", {.objective = Objective::kThroughput}); }),
              testing::HasSubstr("method 'heft' minimizes the latency alone, expected auto or dp"));
}

}  // namespace
}  // namespace emplace
