// What a cache remembers never shows in the logits: they are those of a kernel that remembers nothing, to the bit.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "policy/placeto/kernel/placeto_kernel.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/random_policy.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

class EpisodeCacheOnEveryPath : public testing::TestWithParam<KernelPath> {};

// Through steps and jumps, moves of one node, of many and of none.
void Wander(OwnedState& state, Rng& rng) {
  const PlacetoGraph& graph = *state.graph;
  const auto device = [&] { return static_cast<uint8_t>(rng.UniformInt(0, graph.num_devices - 1)); };
  switch (rng.UniformInt(0, 5)) {
    case 0:
      state.step = static_cast<int32_t>(rng.UniformInt(0, graph.num_nodes - 1));
      break;
    case 1:
      for (uint8_t& place : state.placement) place = device();
      break;
    case 2:
      break;
    default:  // What an episode does.
      state.placement[static_cast<size_t>(state.step)] = device();
      state.step = (state.step + 1) % graph.num_nodes;
  }
  if (rng.Uniform() < 0.5) state.start_times[0] = static_cast<float>(rng.Uniform());
}

TEST_P(EpisodeCacheOnEveryPath, NeverShowsInTheLogits) {
  Rng rng(61);
  for (uint64_t trial = 0; trial < Trials(40); ++trial) {
    const PlacetoShape shape = RandomPlacetoShape(rng);
    const auto devices = static_cast<size_t>(shape.num_devices);
    std::vector<PlacetoGraph> graphs;
    for (int g = 0; g < 3; ++g) {
      graphs.push_back(RandomPlacetoGraph(static_cast<int32_t>(rng.UniformInt(1, 70)), shape.num_devices, 3, rng));
    }
    std::vector<OwnedState> states;
    for (int s = 0; s < 4; ++s) states.push_back(RandomPlacetoState(graphs[static_cast<size_t>(s % 3)], rng));
    std::vector<EpisodeCache> caches(4);
    PlacetoKernel kernel(RandomPlacetoWeights(shape, rng), GetParam());
    for (int step = 0; step < 60; ++step) {
      if (rng.Uniform() < 0.03) kernel = PlacetoKernel(RandomPlacetoWeights(shape, rng), GetParam());
      if (rng.Uniform() < 0.05) std::swap(caches[0], caches[3]);
      if (rng.Uniform() < 0.05) states[1] = RandomPlacetoState(graphs[static_cast<size_t>(rng.UniformInt(0, 2))], rng);
      std::vector<PlacetoState> views;
      std::vector<EpisodeCache*> pointers;
      for (size_t s = 0; s < states.size(); ++s) {
        Wander(states[s], rng);
        views.push_back(states[s].view());
        pointers.push_back(&caches[s]);
      }
      std::vector<float> cached(states.size() * devices);
      std::vector<float> fresh(cached.size());
      kernel.Forward(views, pointers, cached);
      kernel.Forward(views, fresh);
      ASSERT_EQ(cached, fresh) << "trial " << trial << " step " << step;
    }
  }
}

TEST_P(EpisodeCacheOnEveryPath, FitsTheShapeOfTheKernelAtHand) {
  Rng rng(62);
  const PlacetoGraph graph = RandomPlacetoGraph(30, 3, 3, rng);
  const OwnedState state = RandomPlacetoState(graph, rng);
  const std::vector<PlacetoState> views = {state.view()};
  EpisodeCache cache;
  const std::vector<EpisodeCache*> pointers = {&cache};
  for (const int32_t width : {5, 16, 40, 5}) {
    for (const int32_t rounds : {2, 8, 0}) {
      const PlacetoShape shape{.num_devices = 3, .message_rounds = rounds, .message_width = width};
      PlacetoKernel kernel(RandomPlacetoWeights(shape, rng), GetParam());
      std::vector<float> cached(3);
      std::vector<float> fresh(3);
      kernel.Forward(views, pointers, cached);
      kernel.Forward(views, fresh);
      EXPECT_EQ(cached, fresh) << width << " " << rounds;
    }
  }
}

TEST_P(EpisodeCacheOnEveryPath, AllocatesNothingForNewWeights) {
  Rng rng(63);
  const PlacetoShape shape{.num_devices = 2};
  const PlacetoGraph graph = RandomPlacetoGraph(30, 2, 3, rng);
  const OwnedState state = RandomPlacetoState(graph, rng);
  const std::vector<PlacetoState> views = {state.view()};
  EpisodeCache cache;
  const std::vector<EpisodeCache*> pointers = {&cache};
  std::vector<float> logits(2);
  PlacetoKernel first(RandomPlacetoWeights(shape, rng), GetParam());
  PlacetoKernel second(RandomPlacetoWeights(shape, rng), GetParam());
  std::vector<float> fresh(2);
  first.Forward(views, pointers, logits);
  second.Forward(views, fresh);
  const int64_t before = AllocationsSoFar();
  second.Forward(views, pointers, logits);
  EXPECT_EQ(AllocationsSoFar(), before);
  EXPECT_EQ(logits, fresh);
}

INSTANTIATE_TEST_SUITE_P(EveryPath, EpisodeCacheOnEveryPath, testing::ValuesIn(KernelPaths()),
                         [](const auto& path) { return ToString(path.param); });

// Lanes are added in the same order, and both fuse multiply and add.
TEST(PlacetoKernelPaths, ThoseThatFuseGiveEqualBits) {
  const std::vector<KernelPath> paths = KernelPaths();
  if (paths.back() != KernelPath::kAvx512) GTEST_SKIP() << "this processor has no AVX-512";
  Rng rng(64);
  for (uint64_t trial = 0; trial < Trials(40); ++trial) {
    const PlacetoShape shape = RandomPlacetoShape(rng);
    const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
    const PlacetoGraph graph =
        RandomPlacetoGraph(static_cast<int32_t>(rng.UniformInt(1, 70)), shape.num_devices, 3, rng);
    std::vector<OwnedState> states;
    std::vector<PlacetoState> views;
    for (int s = 0; s < 11; ++s) states.push_back(RandomPlacetoState(graph, rng));
    for (const OwnedState& state : states) views.push_back(state.view());
    std::vector<float> narrow(11 * static_cast<size_t>(shape.num_devices));
    std::vector<float> wide(narrow.size());
    PlacetoKernel(weights, KernelPath::kAvx2).Forward(views, narrow);
    PlacetoKernel(weights, KernelPath::kAvx512).Forward(views, wide);
    EXPECT_EQ(narrow, wide);
  }
}

}  // namespace
}  // namespace emplace
