// HEFT, m-ETF, m-SCT and m-TOPO on examples worked out by hand from their papers' definitions.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "simulator/methods/lists/favourite_children.h"
#include "simulator/methods/lists/heft_method.h"
#include "simulator/methods/lists/m_etf_method.h"
#include "simulator/methods/lists/m_sct_method.h"
#include "simulator/methods/lists/m_topo_method.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"

namespace emplace {
namespace {

template <typename Method>
MethodResult PlaceBy(const PlacementTask& task) {
  return Method(MethodOptions{}).Place(task);
}

TEST(Heft, GoesByUpwardRankAndEarliestFinish) {
  const PlacementTask task = HandTask(Diamond(), HandCluster(2));
  // Ranks: d 10; b 20 + 10 + 10 = 40; c 30 + 10 + 10 = 50; a 10 + 10 + 50 = 70: a, c, b, d.
  // a on 0 [0, 10). c ends at 40 there, at 10 + 10 + 30 = 50 on 1: 0. b ends at 60 on 0, at 10 + 10 + 20 = 40 on 1: 1.
  // d starts at 50 on either (b arrives on 0 at 50, c on 1 at 50): the first, 0. It ends at 60.
  const MethodResult result = PlaceBy<HeftMethod>(task);
  EXPECT_EQ(*result.placement, (Placement{0, 1, 0, 0}));
  EXPECT_EQ(Score(task, result).makespan_us, 60);
}

TEST(Heft, FillsGaps) {
  std::vector<Op> ops = Diamond();
  ops.push_back(HandOp("e", 10, {}));  // Rank 10, and before d in topological order.
  const PlacementTask task = HandTask(ops, HandCluster(2));
  // As above; e could start at 40 on 0, after c, and at 0 on 1, in the gap before b.
  const MethodResult result = PlaceBy<HeftMethod>(task);
  EXPECT_EQ(*result.placement, (Placement{0, 1, 0, 0, 1}));
  EXPECT_EQ(Score(task, result).makespan_us, 60);
}

TEST(Heft, TransfersOfOneSenderQueue) {
  // a and b, 10 us each, both read by c (20 us, far from them) and by nobody else. Device 1 alone may run c quickly.
  std::vector<Op> ops = {HandOp("a", 10, {}), HandOp("b", 10, {}), HandOp("c", 0, {0, 1})};
  ops[2].cost = OpCost::ByKind({{"x", 500}, {"y", 20}});
  ops[0].cost = ops[1].cost = OpCost::ByKind({{"x", 10}, {"y", 400}});
  Cluster cluster = HandCluster(2);
  cluster.devices[1].kind = "y";
  // a [0, 10) and b [10, 20) on 0. Their tensors take 10 us each over the one link of 0: 20 and 30. c runs [30, 50).
  const PlacementTask task = HandTask(ops, cluster);
  const MethodResult result = PlaceBy<HeftMethod>(task);
  EXPECT_EQ(*result.placement, (Placement{0, 0, 1}));
  EXPECT_EQ(Score(task, result).makespan_us, 50);
}

TEST(MEtf, TakesTheEarliestStart) {
  const PlacementTask task = HandTask(Diamond(), HandCluster(2));
  // a on 0 at 0. b and c could both start on 0 at 10: b comes first, [10, 30). c starts at 30 on 0, at 20 on 1: [20,
  // 50). d: on 0, c arrives at 60; on 1, b arrives at 40 and c ends at 50: 1, [50, 60).
  const MethodResult result = PlaceBy<MEtfMethod>(task);
  EXPECT_EQ(*result.placement, (Placement{0, 0, 1, 1}));
  EXPECT_EQ(Score(task, result).makespan_us, 60);
}

TEST(MSct, WaitsForTheFavouriteChild) {
  // As the diamond, but b takes 5 us. Without a transfer to c and from c to d, d ends at 10 + 30 + 10 = 50; the way
  // over b, with two transfers, has time to spare: c is a's favourite, d is c's.
  std::vector<Op> ops = Diamond();
  ops[1].cost = OpCost::Everywhere(5);
  const PlacementTask task = HandTask(ops, HandCluster(2));
  EXPECT_EQ(FavouriteChildren(ScheduleGraph(task)), (std::vector<OpIndex>{2, -1, 3, -1}));
  // a on 0 [0, 10), then 0 waits for c: b, which is not ready on 1 before 20, may not come first. c on 0 [10, 40), b on
  // 1 [20, 25), d on 0, where b has arrived at 35, [40, 50).
  const MethodResult result = PlaceBy<MSctMethod>(task);
  EXPECT_EQ(*result.placement, (Placement{0, 1, 0, 0}));
  EXPECT_EQ(Score(task, result).makespan_us, 50);
  // m-etf takes b first, for it has the lower index, and ends later.
  EXPECT_GT(Score(task, PlaceBy<MEtfMethod>(task)).makespan_us, 50);
}

TEST(MSct, LeavesInterruptsToTheProgram) {
  static std::atomic<int> seen = 0;
  const auto before = std::signal(SIGINT, [](int /*signal*/) { ++seen; });
  std::atomic<bool> done = false;
  int raised = 0;
  std::thread interrupts([&] {
    for (; !done; ++raised) {
      std::raise(SIGINT);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  Rng rng(1);
  for (int trial = 0; trial < 20; ++trial) {
    const PlacementTask task = RandomTask(rng, {.max_ops = 300});
    EXPECT_NO_THROW(FavouriteChildren(ScheduleGraph(task)));
  }
  done = true;
  interrupts.join();
  std::signal(SIGINT, before);
  EXPECT_EQ(seen, raised);
}

TEST(MTopo, FillsOneDeviceAfterTheOtherUpToTheCap) {
  // Four ops of 10 bytes: the cap is 40 / 2 + 10 = 30.
  std::vector<Op> ops;
  for (int32_t o = 0; o < 4; ++o)
    ops.push_back(HandOp(std::string(1, static_cast<char>('a' + o)), 1,
                         o == 0 ? std::vector<OpIndex>{} : std::vector<OpIndex>{o - 1}, 10));
  EXPECT_EQ(*PlaceBy<MTopoMethod>(HandTask(ops, HandCluster(2))).placement, (Placement{0, 0, 0, 1}));
}

TEST(ListSchedulers, FindPlacementsThatFit) {
  // Eight parallel ops whose parameters fill four devices; all on the first would be fastest, as the links are slow.
  std::vector<Op> ops = {HandOp("source", 1, {}, 1000000)};
  for (int o = 0; o < 8; ++o) {
    ops.push_back(HandOp("op" + std::to_string(o), 1, {0}, 0));
    ops.back().param_bytes = 400000;
  }
  ops[0].outputs[0].bytes = 100;
  Cluster cluster = HandCluster(4, 1000000);
  cluster.bandwidth_bytes_per_us = 0.001;
  const PlacementTask task = HandTask(ops, cluster);
  for (const char* const name : {"heft", "m-etf", "m-sct", "m-topo", "scotch", "expert", "data-parallel"}) {
    EXPECT_TRUE(Score(task, MakeMethod(name, {})->Place(task)).feasible) << name;
  }
  // Two more than fit anywhere: a placement all the same, and that it does not fit is said.
  for (int o = 0; o < 2; ++o) {
    ops.push_back(HandOp("more" + std::to_string(o), 1, {0}, 0));
    ops.back().param_bytes = 900000;
  }
  const PlacementTask full = HandTask(ops, cluster);
  for (const char* const name : {"heft", "m-etf", "m-sct", "m-topo", "scotch", "expert", "data-parallel"}) {
    const MethodResult result = MakeMethod(name, {})->Place(full);
    ASSERT_TRUE(result.placement.has_value());
    EXPECT_FALSE(Score(full, result).feasible) << name;
  }
}

}  // namespace
}  // namespace emplace
