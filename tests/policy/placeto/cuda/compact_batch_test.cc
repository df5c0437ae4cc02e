// What goes to the GPU says the same as the graphs and episodes that it was made of.
#include "policy/placeto/cuda/compact_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "policy/placeto/cuda/state_view.h"
#include "policy/placeto/cuda/workspace.h"
#include "tests/support/host_block.h"
#include "tests/support/random_batch.h"
#include "tests/support/random_policy.h"

namespace emplace {
namespace {

constexpr PlacetoShape kShape{.num_devices = 3, .memory_feature = true, .message_rounds = 2, .message_width = 0};

TEST(CompactBatch, StatesAreThoseOfTheGraphsAndEpisodes) {
  Rng rng(61);
  for (int trial = 0; trial < 20; ++trial) {
    const RandomBatch batch(kShape, {1, 65, static_cast<int32_t>(rng.UniformInt(2, 200))}, rng);
    HostPolicy policy(kShape, batch.graph_pointers(), RandomLaunchSizes(65, rng), 1);
    policy.SetBatch(batch.sources(), batch.states);
    const gpu::Problem& problem = policy.problem();
    for (size_t s = 0; s < batch.states.size(); ++s) {
      const RandomBatch::Episode& episode = batch.episodes[static_cast<size_t>(batch.states[s].episode)];
      const PlacetoGraph& graph = batch.graphs[static_cast<size_t>(episode.graph)];
      const gpu::StateView state =
          gpu::ViewState(problem.graphs, problem.batch, kShape.num_devices, static_cast<int32_t>(s));
      ASSERT_EQ(state.num_nodes, graph.num_nodes);
      ASSERT_EQ(state.step, batch.states[s].step);
      for (int32_t node = 0; node < graph.num_nodes; ++node) {
        const auto i = static_cast<size_t>(node);
        EXPECT_EQ(state.Device(node), node < state.step ? episode.actions[i] : episode.start[i]);
        EXPECT_EQ(state.cost[node], graph.cost[i]);
        EXPECT_EQ(state.bytes[node], graph.bytes[i]);
        EXPECT_EQ(state.memory[node], graph.memory[i]);
        EXPECT_EQ((state.ancestors[node / 64] >> (node % 64) & 1) != 0, graph.IsAncestor(state.step, node));
        EXPECT_EQ((state.descendants[node / 64] >> (node % 64) & 1) != 0, graph.IsDescendant(state.step, node));
        const auto row = [&](const gpu::Neighbours& neighbours) {
          return std::vector<int32_t>(neighbours.items + neighbours.begin[node],
                                      neighbours.items + neighbours.begin[node + 1]);
        };
        EXPECT_TRUE(std::ranges::equal(row(state.parents), graph.parents.Row(node)));
        EXPECT_TRUE(std::ranges::equal(row(state.children), graph.children.Row(node)));
      }
      for (int32_t d = 0; d < kShape.num_devices; ++d) {
        EXPECT_EQ(state.allowed[d], graph.allowed[static_cast<size_t>(state.step * kShape.num_devices + d)]);
      }
    }
  }
}

TEST(CompactBatch, SmallGraphsComeFirstAndLongOnesBeforeShort) {
  Rng rng(62);
  const RandomBatch batch(kShape, {5, 9, 30, 31, 64}, rng);
  HostPolicy policy(kShape, batch.graph_pointers(), RandomLaunchSizes(30, rng), 1);
  policy.SetBatch(batch.sources(), batch.states);
  const gpu::BatchView& view = policy.problem().batch;
  std::vector<int32_t> nodes;
  std::vector<int32_t> states(view.order, view.order + view.scalars->num_states);
  for (const int32_t s : states) {
    nodes.push_back(gpu::ViewState(policy.problem().graphs, view, kShape.num_devices, s).num_nodes);
  }
  const auto large = nodes.begin() + view.scalars->num_small;
  EXPECT_TRUE(std::all_of(nodes.begin(), large, [](int32_t n) { return n <= 30; }));
  EXPECT_TRUE(std::all_of(large, nodes.end(), [](int32_t n) { return n > 30; }));
  EXPECT_TRUE(std::is_sorted(nodes.begin(), large, std::greater()));
  EXPECT_TRUE(std::is_sorted(large, nodes.end(), std::greater()));
  std::ranges::sort(states);
  for (int32_t s = 0; s < std::ssize(states); ++s) EXPECT_EQ(states[static_cast<size_t>(s)], s);  // Each once.
}

TEST(CompactBatch, CapacityCountsStatesEpisodesAndSteps) {
  Rng rng(63);
  const RandomBatch batch(kShape, {7, 11}, rng);
  const std::vector<const PlacetoGraph*> pointers = batch.graph_pointers();
  const gpu::CompactGraphs graphs(pointers, kShape.num_devices);
  const gpu::BatchCapacity capacity = gpu::CapacityFor(graphs, batch.sources(), batch.states.size());
  int32_t steps = 0;
  for (const RandomBatch::Episode& episode : batch.episodes) steps += static_cast<int32_t>(episode.actions.size());
  EXPECT_EQ(capacity.states, std::ssize(batch.states));
  EXPECT_EQ(capacity.episodes, std::ssize(batch.episodes));
  EXPECT_EQ(capacity.steps, steps);
  EXPECT_TRUE(capacity.Holds(capacity));
  for (int32_t gpu::BatchCapacity::*count :
       {&gpu::BatchCapacity::states, &gpu::BatchCapacity::episodes, &gpu::BatchCapacity::steps}) {
    gpu::BatchCapacity smaller = capacity;
    --(smaller.*count);
    EXPECT_FALSE(smaller.Holds(capacity));
    EXPECT_TRUE(capacity.Holds(smaller));
  }
}

TEST(CompactBatch, AStateOutsideItsEpisodeIsABug) {
  Rng rng(64);
  const RandomBatch batch(kShape, {7}, rng);
  HostPolicy policy(kShape, batch.graph_pointers(), RandomLaunchSizes(30, rng), 1);
  EXPECT_DEATH(policy.SetBatch(batch.sources(), {{.episode = 0, .step = 7}}), "state.step");
  EXPECT_DEATH(policy.SetBatch(batch.sources(), {{.episode = 2, .step = 0}}), "episode");
}

TEST(Workspace, TheMostNodesThatFitDoAndOneMoreDoesNot) {
  for (const int32_t width : {0, 5, 16, 64}) {
    PlacetoShape shape = kShape;
    shape.message_width = width;
    const gpu::PlacetoPlan plan = gpu::MakePlacetoPlan(shape);
    for (const int32_t threads : {64, 256}) {
      for (const int64_t bytes : {int64_t{40} << 10, int64_t{163} << 10, int64_t{227} << 10}) {
        const auto takes = [&](int32_t n) {
          return 4 * std::max(gpu::ForwardArenaFloats(plan, n), gpu::BackwardArenaFloats(plan, n, threads));
        };
        const int32_t fits = gpu::NodesThatFit(plan, 10'000, threads, bytes);
        EXPECT_TRUE(fits == 0 || takes(fits) <= bytes);
        EXPECT_GT(takes(fits + 1), bytes);
        EXPECT_EQ(gpu::NodesThatFit(plan, 10, threads, bytes), std::min(10, fits));
      }
    }
    EXPECT_EQ(gpu::NodesThatFit(plan, 100, 256, 0), 0);
  }
}

}  // namespace
}  // namespace emplace
