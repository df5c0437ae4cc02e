#include "simulator/methods/stages/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "common/rng.h"
#include "common/strings.h"
#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/placement_scorer.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// Layers of three ops, x -> a -> b and b + x -> c, each of which costs 3 us, with 100 bytes of parameters in `a`.
std::vector<Op> LayersOf(int32_t layers, const std::string& group = "") {
  std::vector<Op> ops = {HandOp("in", 1, {}, 10)};
  for (int32_t layer = 0; layer < layers; ++layer) {
    const auto x = static_cast<OpIndex>(ops.size()) - 1;
    for (const char* part : {"a", "b", "c"}) {
      std::vector<OpIndex> inputs = {static_cast<OpIndex>(ops.size()) - 1};
      if (*part == 'c') inputs.push_back(x);
      ops.push_back(HandOp(part + std::to_string(layer), 1, inputs, 10));
    }
    ops[ops.size() - 3].param_bytes = 100;
    if (!group.empty() && layer < 2) ops.back().group = group;
  }
  return ops;
}

PlacementTask TaskOf(const std::vector<Op>& ops, const Cluster& cluster) {
  return PlacementTask::Make(OpGraph("chain", ops), cluster, /*max_groups=*/0);
}

int64_t TensorsBetween(const PlacementTask& task, const ChainBlocks& chain, int32_t at) {
  int64_t count = 0;
  for (OpIndex o = 0; o < task.sim.num_ops; ++o) {
    if (chain.block_of_op[static_cast<size_t>(o)] >= at) continue;
    for (const int32_t t : task.sim.TensorsOf(o)) {
      const auto readers = task.sim.tensor_consumers.Row(t);
      count += std::ranges::any_of(readers, [&](OpIndex r) { return chain.block_of_op[static_cast<size_t>(r)] >= at; });
    }
  }
  return count;
}

TEST(Chain, LayersAreBlocks) {
  const PlacementTask task = TaskOf(LayersOf(4), HandCluster(2));
  const std::optional<ChainBlocks> chain = ChainOf(task, 100);
  ASSERT_TRUE(chain);
  // `in`, and of each layer all three ops, for x passes a and b by.
  EXPECT_EQ(chain->num_blocks, 5);
  EXPECT_EQ(chain->block_of_op, (std::vector<int32_t>{0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}));
}

TEST(Chain, OpsThatHaveToBeTogetherAreInOneBlock) {
  const PlacementTask task = TaskOf(LayersOf(4, "both"), HandCluster(2));
  const std::optional<ChainBlocks> chain = ChainOf(task, 100);
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->block_of_op, (std::vector<int32_t>{0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3}));
}

// Passes of micro-batches forward and back through layers of these times; a layer's passes are in one group.
std::vector<Op> RoundTrips(const std::vector<double>& layers_us, int32_t microbatches) {
  std::vector<Op> ops;
  for (int32_t microbatch = 0; microbatch < microbatches; ++microbatch) {
    const size_t first = ops.size();
    const auto add = [&](const char* pass, size_t layer, double us, OpIndex forward) {
      std::vector<OpIndex> inputs;
      if (ops.size() > first) inputs.push_back(static_cast<OpIndex>(ops.size()) - 1);
      ops.push_back(HandOp(StrCat(pass, layer, ".", microbatch), us, inputs, 20));
      if (forward >= 0) ops.back().inputs.push_back({forward, OpInput::kControl});
      ops.back().group = StrCat("layer", layer);
      if (microbatch > 0) ops.back().copy_of = static_cast<OpIndex>(ops.size() - 1 - first);
    };
    for (size_t layer = 0; layer < layers_us.size(); ++layer) add("f", layer, layers_us[layer], -1);
    for (size_t layer = layers_us.size(); layer-- > 0;)
      add("b", layer, 2 * layers_us[layer], static_cast<OpIndex>(first + layer));
  }
  return ops;
}

TEST(Chain, OfMicrobatchesALayersPassesAreABlock) {
  const PlacementTask task = TaskOf(RoundTrips({3, 1, 2}, 4), HandCluster(2));
  const std::optional<ChainBlocks> chain = ChainOf(task, 100);
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->num_blocks, 3);
  for (OpIndex o = 0; o < task.sim.num_ops; ++o) {
    const int32_t pass = o % 6;
    EXPECT_EQ(chain->block_of_op[static_cast<size_t>(o)], pass < 3 ? pass : 5 - pass);
  }
}

// Against every division over two devices, each in its best order. Sums of times do not say how passes overlap, so the
// best one may be missed by a little.
TEST(Chain, OfMicrobatchesItIsDividedAsWellAsCanBe) {
  for (uint64_t seed = 0; seed < Trials(30); ++seed) {
    Rng rng(seed);
    std::vector<double> layers_us;
    for (int i = 0; i < 6; ++i) layers_us.push_back(static_cast<double>(rng.UniformInt(1, 30)));
    Cluster cluster = HandCluster(2);
    if (seed % 2 == 0) {
      cluster.link_model = LinkModel::kPerDestination;
      cluster.blocking = 1;
    }
    const PlacementTask task = TaskOf(RoundTrips(layers_us, 4), cluster);
    const MethodResult found = ChainMethod({}).Place(task);
    ASSERT_TRUE(found.placement);
    const double found_us = PlacementScorer(task, found.orders).Score(*found.placement).makespan_us;
    double least_us = task.single_device_us;
    const std::optional<ChainBlocks> chain = ChainOf(task, 100);
    for (int32_t first = 1; first < 6; ++first) {
      Placement divided;
      for (const int32_t block : chain->block_of_op) divided.push_back(block < first ? 0 : 1);
      least_us = std::min(least_us, BestOrder(ScheduleGraph(task), divided).score.makespan_us);
    }
    EXPECT_LE(found_us, 1.001 * least_us) << "seed " << seed;
  }
}

TEST(Chain, WhereNothingPassesOnThereIsNoChain) {
  EXPECT_FALSE(ChainOf(TaskOf({HandOp("a", 1, {}, 1), HandOp("b", 1, {}, 1)}, HandCluster(2)), 100));
  EXPECT_FALSE(ChainMethod({}).Place(TaskOf({HandOp("a", 1, {}, 1)}, HandCluster(2))).placement);
}

TEST(Chain, ManyBlocksAreJoinedToAboutAsMuchWorkEach) {
  const PlacementTask task = TaskOf(LayersOf(100), HandCluster(2));
  const std::optional<ChainBlocks> chain = ChainOf(task, 10);
  ASSERT_TRUE(chain);
  EXPECT_LE(chain->num_blocks, 11);
  std::vector<int32_t> sizes(static_cast<size_t>(chain->num_blocks), 0);
  for (const int32_t block : chain->block_of_op) ++sizes[static_cast<size_t>(block)];
  EXPECT_LT(*std::ranges::max_element(sizes), 45);
}

TEST(Chain, OneTensorPassesFromBlockToBlock) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    std::vector<Op> ops = {HandOp("op0", 1, {}, 5)};
    for (OpIndex o = 1; o < rng.UniformInt(2, 20); ++o) {
      std::set<OpIndex> inputs = {static_cast<OpIndex>(rng.UniformInt(std::max<int64_t>(0, o - 3), o - 1))};
      if (rng.UniformInt(0, 1) == 0) inputs.insert(o - 1);
      ops.push_back(HandOp("op" + std::to_string(o), 1, {inputs.begin(), inputs.end()}, 5));
    }
    const PlacementTask task = TaskOf(ops, HandCluster(2));
    const std::optional<ChainBlocks> chain = ChainOf(task, 100);
    if (!chain) continue;
    for (int32_t block = 1; block < chain->num_blocks; ++block) {
      ASSERT_EQ(TensorsBetween(task, *chain, block), 1) << "seed " << seed << ", block " << block;
    }
    for (OpIndex o = 0; o < task.sim.num_ops; ++o) {
      for (const OpIndex reader : task.sim.ReadersOf(o)) {
        ASSERT_LE(chain->block_of_op[static_cast<size_t>(o)], chain->block_of_op[static_cast<size_t>(reader)]);
      }
    }
  }
}

TEST(Chain, ItIsDividedWhereTheMemoryAsksForIt) {
  // Four layers of 100 bytes, of which a device has room for two, and for what passes.
  Cluster cluster = HandCluster(2);
  for (Device& device : cluster.devices) device.memory_bytes = 260;
  const PlacementTask task = TaskOf(LayersOf(4), cluster);
  const MethodResult result = ChainMethod({}).Place(task);
  ASSERT_TRUE(result.placement);
  EXPECT_EQ(PlacementScorer(task).Score(*result.placement).bytes_over, 0);
  EXPECT_EQ(std::ranges::count(*result.placement, 0), 7);
}

}  // namespace
}  // namespace emplace
