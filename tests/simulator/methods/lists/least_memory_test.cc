#include "simulator/methods/lists/least_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/rng.h"
#include "simulator/engine/simulator.h"
#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/placement_method.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

int64_t PeakBytes(const PlacementTask& task, const DeviceOrders& orders) {
  std::vector<int64_t> peak_bytes(1);
  Simulator(task.sim, orders).MakespanAndPeak(Placement(static_cast<size_t>(task.sim.num_ops), 0), peak_bytes);
  return peak_bytes.front();
}

// The least peak of all orders on one device.
int64_t LeastPeakBytes(const PlacementTask& task) {
  std::vector<OpIndex> order(static_cast<size_t>(task.sim.num_ops));
  std::iota(order.begin(), order.end(), 0);
  std::vector<size_t> place(order.size());
  int64_t least = std::numeric_limits<int64_t>::max();
  do {
    for (size_t i = 0; i < order.size(); ++i) place[static_cast<size_t>(order[i])] = i;
    bool possible = true;
    for (OpIndex op = 0; op < task.sim.num_ops; ++op) {
      for (const OpIndex reader : task.sim.ReadersOf(op))
        possible = possible && place[static_cast<size_t>(op)] < place[static_cast<size_t>(reader)];
    }
    if (possible) least = std::min(least, PeakBytes(task, {order}));
  } while (std::ranges::next_permutation(order).found);
  return least;
}

DeviceOrders LeastMemoryOn(const PlacementTask& task, const Placement& placement) {
  return OrdersOfLeastMemory(ScheduleGraph(task), placement);
}

TEST(LeastMemory, RunsWhatFreesMemoryFirst) {
  // Each of a1 and a2 makes 10 bytes, which b1 and b2 read: one after the other, 10 bytes are enough.
  const std::vector<Op> ops = {HandOp("a1", 1, {}, 10), HandOp("a2", 1, {}, 10), HandOp("b1", 1, {0}, 0),
                               HandOp("b2", 1, {1}, 0)};
  const PlacementTask task = HandTask(ops, HandCluster(1));
  const DeviceOrders orders = LeastMemoryOn(task, Placement(4, 0));
  EXPECT_EQ(orders, (DeviceOrders{{0, 2, 1, 3}}));
  EXPECT_EQ(PeakBytes(task, orders), 10);
  EXPECT_EQ(PeakBytes(task, OrderBy("arrival", ScheduleGraph(task), Placement(4, 0)).orders), 20);
}

TEST(LeastMemory, TheLastReaderOnADeviceFreesItsCopy) {
  // a (100 bytes) is on d:0; b and c on d:1 read a copy of it, and d on d:1 makes 1 byte of nothing. Once b has run, c
  // frees the copy, so that it goes before d.
  const std::vector<Op> ops = {HandOp("a", 1, {}, 100), HandOp("d", 1, {}, 1), HandOp("b", 1, {0}, 0),
                               HandOp("c", 1, {0}, 0), HandOp("e", 1, {1}, 0)};
  const PlacementTask task = HandTask(ops, HandCluster(2));
  EXPECT_EQ(LeastMemoryOn(task, {0, 1, 1, 1, 1}), (DeviceOrders{{0}, {2, 3, 1, 4}}));
}

TEST(LeastMemory, IsNearTheLeastPeakOnOneDevice) {
  int least = 0;
  int compared = 0;
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    std::vector<Op> ops;
    std::vector<bool> is_read(7);
    for (OpIndex op = 0; op < 7; ++op) {
      std::vector<OpIndex> inputs;
      for (OpIndex from = 0; from < op; ++from) {
        // What nobody reads would stay, so the last op reads it.
        const bool reads = op == 6 ? !is_read[static_cast<size_t>(from)] : rng.UniformInt(0, 2) == 0;
        if (!reads) continue;
        inputs.push_back(from);
        is_read[static_cast<size_t>(from)] = true;
      }
      ops.push_back(HandOp("o" + std::to_string(op), 1, inputs, rng.UniformInt(0, 20)));
    }
    const PlacementTask task = HandTask(ops, HandCluster(1));
    const int64_t found = PeakBytes(task, LeastMemoryOn(task, Placement(7, 0)));
    const int64_t best = LeastPeakBytes(task);
    ASSERT_GE(found, best);
    EXPECT_LE(static_cast<double>(found), 2.0 * static_cast<double>(best)) << "seed " << seed;
    least += found == best ? 1 : 0;
    ++compared;
  }
  EXPECT_GE(least, compared / 2);
}

TEST(LeastMemory, AutoFitsByAnOrderWhereNothingFitsWithoutOne) {
  const std::vector<Op> ops = {HandOp("a1", 1, {}, 10), HandOp("a2", 1, {}, 10), HandOp("b1", 1, {0}, 0),
                               HandOp("b2", 1, {1}, 0)};
  const OpGraph graph("tight", ops);
  for (const int devices : {1, 2}) {
    Cluster cluster = HandCluster(devices, 15);
    if (devices == 2) cluster.devices[1].memory_bytes = 1;
    const PlacementTask task = PlacementTask::Make(graph, cluster, 0);
    const MethodResult result = MakeMethod("auto", {.budget = 100})->Place(task);
    const MethodScore score = Score(task, result);
    EXPECT_TRUE(score.feasible) << devices;
    EXPECT_EQ(score.makespan_us, 4);
    EXPECT_FALSE(result.orders.empty());
  }
}

}  // namespace
}  // namespace emplace
