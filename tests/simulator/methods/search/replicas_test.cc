#include "simulator/methods/search/replicas.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "common/rng.h"
#include "common/strings.h"
#include "simulator/engine/memory/peak_memory.h"
#include "simulator/engine/simulator.h"
#include "simulator/methods/search/auto_method.h"
#include "simulator/methods/search/moves/move_generator.h"
#include "simulator/methods/search/replica_task.h"
#include "tests/simulator/methods/microbatches.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// A parameter, and in each micro-batch an op that reads it and two that read this one.
PlacementTask Fork(int32_t microbatches, const Cluster& cluster) {
  return MicrobatchTask({HandOp("w", 0, {}, 20)},
                        {HandOp("a", 10, {0}, 20), HandOp("b", 30, {1}), HandOp("c", 30, {1})}, microbatches, cluster);
}

std::vector<std::pair<OpIndex, DeviceIndex>> Pairs(const Move& move) {
  std::vector<std::pair<OpIndex, DeviceIndex>> pairs;
  for (const OpMove& to : move) pairs.emplace_back(to.op, to.device);
  return pairs;
}

TEST(Replicas, AreAsManyAsMicrobatchesWhereThatDividesTheDevices) {
  const auto shape = [](int32_t microbatches, int devices) {
    const std::optional<Replicas> replicas = Replicas::Of(Fork(microbatches, HandCluster(devices)));
    return replicas ? std::pair(replicas->count(), replicas->width()) : std::pair(0, 0);
  };
  EXPECT_EQ(shape(4, 8), std::pair(4, 2));
  EXPECT_EQ(shape(2, 8), std::pair(2, 4));
  EXPECT_EQ(shape(3, 8), std::pair(2, 4));
  EXPECT_EQ(shape(8, 8), std::pair(8, 1));
  EXPECT_EQ(shape(5, 7), std::pair(0, 0));
  EXPECT_EQ(shape(8, 4), std::pair(0, 0));
  EXPECT_EQ(shape(1, 4), std::pair(0, 0));
}

TEST(Replicas, NeedDevicesThatAreAlike) {
  Cluster cluster = HandCluster(4);
  cluster.devices[3].memory_bytes /= 2;
  EXPECT_FALSE(Replicas::Of(Fork(2, cluster)));
  PlacementTask task = Fork(2, HandCluster(4));
  task.sim.cost_us[4] += 1;
  EXPECT_FALSE(Replicas::Of(task));
}

TEST(Replicas, MirrorAMoveToTheSamePlaceOfEachReplica) {
  // Ops 1 to 3 in the first micro-batch, 4 to 6 in the second one, and 7 to 9 in the third one, which replica 0 has.
  const PlacementTask task = Fork(3, HandCluster(4));
  const std::optional<Replicas> replicas = Replicas::Of(task);
  ASSERT_TRUE(replicas);
  Move mirrored;
  replicas->Mirror({{2, 1}, {0, 3}}, mirrored);
  EXPECT_EQ(Pairs(mirrored), Pairs({{0, 3}, {2, 1}, {5, 3}, {8, 1}}));
  replicas->Mirror({{5, 2}}, mirrored);
  EXPECT_EQ(Pairs(mirrored), Pairs({{2, 0}, {5, 2}, {8, 0}}));
  replicas->Mirror({{2, 1}, {5, 3}}, mirrored);  // Both ask for the same.
  EXPECT_EQ(Pairs(mirrored), Pairs({{2, 1}, {5, 3}, {8, 1}}));
  replicas->Mirror({{2, 1}, {5, 2}}, mirrored);
  EXPECT_TRUE(mirrored.empty());
}

TEST(Replicas, OfOneDeviceMoveOpsAsManyDevicesFurther) {
  const PlacementTask task = Fork(3, HandCluster(3));
  const std::optional<Replicas> replicas = Replicas::Of(task);
  ASSERT_TRUE(replicas);
  Move mirrored;
  replicas->Mirror({{5, 0}}, mirrored);  // From device 1.
  EXPECT_EQ(Pairs(mirrored), Pairs({{2, 2}, {5, 0}, {8, 1}}));
}

// Moves ops of a Fork of four micro-batches by mirrored moves, from this placement, and looks at each that it comes to.
template <typename Look>
void MoveMirrored(int devices, const Placement& start, Look look) {
  const PlacementTask task = Fork(4, HandCluster(devices));
  const SearchSpace space(task);
  const std::optional<Replicas> replicas = Replicas::Of(task);
  ASSERT_TRUE(replicas);
  for (uint64_t seed = 0; seed < Trials(20); ++seed) {
    Rng rng(seed);
    MoveGenerator generator(space);
    Placement placement = start;
    int moves = 0;
    for (int step = 0; step < 100; ++step) {
      Move move;
      generator.Draw(rng, 0, {.family = 0.2, .neighbours = 0.2, .swap = 0.2, .replicas = &*replicas}, placement, move);
      for (const OpMove& to : move) {
        EXPECT_NE(placement[static_cast<size_t>(to.op)], to.device);
        placement[static_cast<size_t>(to.op)] = to.device;
      }
      moves += static_cast<int>(!move.empty());
      look(placement);
    }
    EXPECT_GT(moves, 20);
  }
}

TEST(Replicas, StayTheSameUnderMirroredMoves) {
  MoveMirrored(8, {5, 0, 0, 0, 2, 2, 2, 4, 4, 4, 6, 6, 6}, [](const Placement& placement) {
    for (size_t op = 4; op < placement.size(); ++op) ASSERT_EQ(placement[op], placement[op - 3] + 2) << op;
  });
}

TEST(Replicas, OfOneDeviceStayRotated) {
  MoveMirrored(4, {0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}, [](const Placement& placement) {
    for (size_t op = 4; op < placement.size(); ++op) ASSERT_EQ(placement[op], (placement[op - 3] + 1) % 4) << op;
  });
}

TEST(ReplicaTask, HasOneReplicaOnItsDevices) {
  const PlacementTask whole = Fork(3, HandCluster(4));
  const std::optional<Replicas> replicas = Replicas::Of(whole);
  ASSERT_TRUE(replicas);
  const ReplicaTask replica(whole, *replicas);
  const PlacementTask& task = replica.task();
  EXPECT_EQ(task.sim.num_ops, 7);  // What is shared, and the first and the third micro-batch.
  EXPECT_EQ(task.microbatch_of_op, (std::vector<int32_t>{-1, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(task.copy_of_op, (std::vector<OpIndex>{0, 1, 2, 3, 1, 2, 3}));
  EXPECT_TRUE(task.sim.MayRun(0, 1));
  EXPECT_FALSE(task.sim.MayRun(0, 2));
  EXPECT_EQ(replica.Expanded(Placement{1, 0, 1, 0, 0, 0, 1}), (Placement{1, 0, 1, 0, 2, 3, 2, 0, 0, 1}));
}

TEST(ReplicaTask, TakesAsLongAsTheWholeWhereReplicasExchangeNothing) {
  const PlacementTask whole =
      MicrobatchTask({}, {HandOp("a", 10, {}, 20), HandOp("b", 30, {0}), HandOp("c", 30, {0})}, 3, HandCluster(6));
  const std::optional<Replicas> replicas = Replicas::Of(whole);
  ASSERT_TRUE(replicas);
  const ReplicaTask replica(whole, *replicas);
  for (const Placement& placement : {Placement{0, 0, 0}, Placement{0, 1, 0}, Placement{1, 0, 0}}) {
    EXPECT_EQ(Simulator(replica.task().sim).Makespan(placement),
              Simulator(whole.sim).Makespan(replica.Expanded(placement)));
  }
}

TEST(ReplicaTask, ExpandsToLegalPlacementsWithWhatIsSharedSpreadOverReplicas) {
  std::vector<Op> shared;
  for (int i = 0; i < 8; ++i) shared.push_back(HandOp(StrCat("w", i), 0, {}, 100));
  for (Op& op : shared) op.param_bytes = 800;
  const PlacementTask whole = MicrobatchTask(shared, {HandOp("a", 10, {0, 1, 2, 3, 4, 5, 6, 7})}, 4, HandCluster(8));
  const std::optional<Replicas> replicas = Replicas::Of(whole);
  ASSERT_TRUE(replicas);
  const ReplicaTask replica(whole, *replicas);
  EXPECT_EQ(replica.task().sim.param_bytes[0], 200);
  const Placement placement = replica.Expanded(Placement{0, 0, 0, 0, 1, 1, 1, 1, 1});
  EXPECT_EQ(placement, (Placement{0, 2, 4, 6, 1, 3, 5, 7, 1, 3, 5, 7}));
}

// Whatever is shared counts with a replica's part, also while it is made.
TEST(ReplicaTask, HasPeaksThatAddUpFromItsOps) {
  for (const bool resident : {false, true}) {
    std::vector<Op> shared = {HandOp("w", 0, {}, 1000), HandOp("made", 10, {0}, 3000)};
    shared[0].outputs[0].resident = resident;
    shared[0].param_bytes = resident ? 1000 : 0;
    const PlacementTask whole =
        MicrobatchTask(shared, {HandOp("a", 10, {0, 1}, 20), HandOp("b", 10, {2}, 8)}, 4, HandCluster(8));
    const std::optional<Replicas> replicas = Replicas::Of(whole);
    ASSERT_TRUE(replicas);
    const SimGraph sim = ReplicaTask(whole, *replicas).task().sim;
    const std::vector<int64_t> most_bytes = MostBytesOfOps(sim);
    const auto ops = static_cast<size_t>(sim.num_ops);
    for (uint32_t on_second = 0; on_second < 1U << ops; ++on_second) {
      Placement placement;
      std::vector<int64_t> expected(static_cast<size_t>(sim.num_devices));
      for (size_t op = 0; op < ops; ++op) {
        placement.push_back(static_cast<DeviceIndex>(on_second >> op & 1));
        expected[static_cast<size_t>(placement.back())] += most_bytes[op];
      }
      std::vector<int64_t> peak(expected.size());
      Simulator(sim).MakespanAndPeak(placement, peak);
      for (size_t d = 0; d < peak.size(); ++d) EXPECT_LE(peak[d], expected[d]) << resident << on_second;
    }
  }
}

// A step of micro-batches as a user might write it: in any order of the ops, some without a copy in some micro-batch,
// and random ops bound together, whatever micro-batches they are of.
PlacementTask RandomMicrobatches(Rng& rng) {
  const auto shared = static_cast<int32_t>(rng.UniformInt(1, 5));
  const auto of_each = static_cast<int32_t>(rng.UniformInt(2, 12));
  const auto microbatches = static_cast<int32_t>(rng.UniformInt(2, 4));
  std::vector<Op> ops;
  for (int32_t i = 0; i < shared; ++i) ops.push_back(HandOp(StrCat("w", i), 0, {}, 20));
  std::vector<OpIndex> first(static_cast<size_t>(of_each));
  for (int32_t m = 0; m < microbatches; ++m) {
    std::vector<OpIndex> own(first.size(), -1);
    for (size_t i = 0; i < own.size(); ++i) {
      if (m > 0 && rng.Uniform() < 0.03) continue;
      Op op = HandOp(StrCat("op", i, "/", m), 10, {static_cast<OpIndex>(i) % shared}, 20);
      if (i > 0 && own[i - 1] >= 0) op.inputs.push_back({own[i - 1], 0});
      if (m > 0) op.copy_of = first[i];
      own[i] = static_cast<OpIndex>(ops.size());
      ops.push_back(op);
    }
    if (m == 0) first = own;
  }
  const auto bindings = rng.UniformInt(0, 3);
  for (int64_t label = 0; label < bindings; ++label) {
    const bool in_all = rng.Uniform() < 0.5;  // Else only where it happens to be.
    const auto a = static_cast<size_t>(rng.UniformInt(0, std::ssize(ops) - 1));
    const auto b = static_cast<size_t>(rng.UniformInt(0, std::ssize(ops) - 1));
    const auto original = [&](size_t op) {
      return ops[op].copy_of == Op::kNoCopy ? static_cast<OpIndex>(op) : ops[op].copy_of;
    };
    for (size_t op = 0; op < ops.size(); ++op) {
      const bool same = original(op) == original(a) || original(op) == original(b);
      if (in_all ? same : op == a || op == b)
        ops[op].group = StrCat("g", label, in_all ? ops[op].name.substr(ops[op].name.find('/') + 1) : "");
    }
  }
  std::vector<OpIndex> at(ops.size());
  std::iota(at.begin(), at.end(), 0);
  Shuffle(rng, at);
  std::vector<Op> shuffled(ops.size());
  for (size_t op = 0; op < ops.size(); ++op) {
    Op& to = shuffled[static_cast<size_t>(at[op])] = ops[op];
    for (OpInput& input : to.inputs) input.producer = at[static_cast<size_t>(input.producer)];
    if (to.copy_of != Op::kNoCopy) to.copy_of = at[static_cast<size_t>(to.copy_of)];
  }
  const int devices = microbatches * static_cast<int>(rng.UniformInt(1, 3));
  return PlacementTask::Make(OpGraph("random", shuffled), HandCluster(devices), 12);
}

// Ops that must stay together do.
bool IsBound(const PlacementTask& task, std::span<const DeviceIndex> placement) {
  std::vector<DeviceIndex> device(task.levels->Finest().size(), -1);
  for (size_t op = 0; op < placement.size(); ++op) {
    DeviceIndex& of_unit = device[static_cast<size_t>(task.levels->Finest()[op])];
    if (of_unit >= 0 && of_unit != placement[op]) return false;
    of_unit = placement[op];
  }
  return true;
}

TEST(Replicas, KeepOpsTogetherThatMustBe) {
  int mirrored_moves = 0;
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomMicrobatches(rng);
    const std::optional<Replicas> replicas = Replicas::Of(task);
    if (!replicas) continue;
    const ReplicaTask replica(task, *replicas);
    Placement of_one(static_cast<size_t>(replica.task().sim.num_ops));
    for (size_t op = 0; op < of_one.size(); ++op) of_one[op] = replica.task().levels->Finest()[op] % replicas->width();
    Placement placement = replica.Expanded(of_one);
    ASSERT_TRUE(IsBound(task, placement)) << "seed " << seed;
    const SearchSpace space(task, /*with_columns=*/true);
    MoveGenerator generator(space);
    for (int step = 0; step < 40; ++step) {
      const auto level = static_cast<size_t>(rng.UniformInt(0, std::ssize(space.levels()) - 1));
      Move move;
      generator.Draw(rng, level, {.family = 0.3, .neighbours = 0.3, .swap = 0.3, .column = 0.5, .replicas = &*replicas},
                     placement, move);
      for (const OpMove& to : move) placement[static_cast<size_t>(to.op)] = to.device;
      ASSERT_TRUE(IsBound(task, placement)) << "seed " << seed << ", step " << step;
      mirrored_moves += static_cast<int>(move.size() > 1);
    }
    const MethodResult result = AutoMethod({.budget = 250, .seed = seed}).Place(task);
    EXPECT_TRUE(IsBound(task, *result.placement)) << "seed " << seed;
  }
  EXPECT_GT(mirrored_moves, static_cast<int>(10 * Trials(200)));
}

}  // namespace
}  // namespace emplace
