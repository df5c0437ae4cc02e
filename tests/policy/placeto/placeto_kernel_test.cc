#include "policy/placeto/kernel/placeto_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/sort_unique.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/naive_policy.h"
#include "tests/support/random_policy.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

std::vector<float> Logits(PlacetoKernel& kernel, const std::vector<PlacetoState>& states) {
  std::vector<float> logits(states.size() * static_cast<size_t>(kernel.shape().num_devices));
  kernel.Forward(states, logits);
  return logits;
}

// `count` graphs of 1..60 nodes and three states of each.
struct Workload {
  Workload(const PlacetoShape& shape, int count, Rng& rng) {
    graphs.reserve(static_cast<size_t>(count));  // States point to them.
    for (int i = 0; i < count; ++i) {
      const auto num_nodes = static_cast<int32_t>(rng.UniformInt(1, 60));
      graphs.push_back(RandomPlacetoGraph(num_nodes, shape.num_devices, 3, rng));
      for (int s = 0; s < 3; ++s) states.push_back(RandomPlacetoState(graphs.back(), rng));
    }
  }
  std::vector<PlacetoGraph> graphs;
  std::vector<OwnedState> states;
};

TEST(PlacetoKernel, EqualsTheDefinitionOnRandomGraphsWeightsAndShapes) {
  Rng rng(21);
  double largest = 0;
  int compared = 0;
  for (uint64_t trial = 0; trial < 120; ++trial) {
    const PlacetoShape shape = RandomPlacetoShape(rng);
    const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
    const Workload workload(shape, 2, rng);
    std::vector<double> expected;
    for (const OwnedState& state : workload.states) {
      const std::vector<double> one = NaivePlacetoLogits(weights, state.view());
      expected.insert(expected.end(), one.begin(), one.end());
    }
    for (const KernelPath path : KernelPaths()) {
      PlacetoKernel kernel(weights, path);
      const std::vector<float> logits = Logits(kernel, Views(workload.states));
      for (size_t i = 0; i < logits.size(); ++i) {
        const auto logit = static_cast<double>(logits[i]);
        if (std::isinf(expected[i])) {
          EXPECT_EQ(logit, expected[i]);
          continue;
        }
        ASSERT_NEAR(logit, expected[i], 1e-5 * (1 + std::abs(expected[i]))) << ToString(path) << " trial " << trial;
        largest = std::max(largest, std::abs(expected[i]));
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 1000);
  EXPECT_GT(largest, 1.0);  // Logits near 0 would prove little.
}

TEST(PlacetoKernel, AStateGivesTheSameBitsAloneAndInAnyBatch) {
  Rng rng(22);
  for (uint64_t trial = 0; trial < Trials(30); ++trial) {
    const PlacetoShape shape = RandomPlacetoShape(rng);
    const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
    const Workload workload(shape, 5, rng);
    const std::vector<PlacetoState> states = Views(workload.states);
    for (const KernelPath path : KernelPaths()) {
      PlacetoKernel together(weights, path);
      const std::vector<float> all = Logits(together, states);
      for (size_t s = 0; s < states.size(); ++s) {
        // A fresh kernel, and the one whose scratch holds another state's leftovers.
        PlacetoKernel fresh(weights, path);
        const std::vector<float> alone = Logits(fresh, {states[s]});
        const std::vector<float> again = Logits(together, {states[s]});
        const auto width = static_cast<ptrdiff_t>(shape.num_devices);
        const auto row = all.begin() + static_cast<ptrdiff_t>(s) * width;
        EXPECT_TRUE(std::equal(alone.begin(), alone.end(), row, row + width));
        EXPECT_TRUE(std::equal(again.begin(), again.end(), row, row + width));
      }
    }
  }
}

TEST(PlacetoKernel, ForbidsDevicesThatTheCurrentGroupMayNotUse) {
  Rng rng(23);
  const PlacetoShape shape{.num_devices = 5};
  PlacetoKernel kernel(RandomPlacetoWeights(shape, rng));
  int forbidden = 0;
  for (int trial = 0; trial < 50; ++trial) {
    const PlacetoGraph graph = RandomPlacetoGraph(12, 5, 3, rng);
    const OwnedState state = RandomPlacetoState(graph, rng);
    const std::vector<float> logits = Logits(kernel, {state.view()});
    for (size_t d = 0; d < 5; ++d) {
      const bool allowed = graph.allowed[static_cast<size_t>(state.step) * 5 + d] != 0;
      EXPECT_EQ(std::isfinite(logits[d]), allowed);
      if (!allowed) {
        EXPECT_EQ(logits[d], -std::numeric_limits<float>::infinity());
        ++forbidden;
      }
    }
  }
  EXPECT_GT(forbidden, 10);
}

// Nodes from which at most `hops` edges lead to `node`, or from `node` to them.
std::vector<bool> Within(const PlacetoGraph& graph, int32_t node, int32_t hops) {
  std::vector<bool> within(static_cast<size_t>(graph.num_nodes), false);
  for (const Csr* edges : {&graph.parents, &graph.children}) {
    std::vector<int32_t> front = {node};
    for (int32_t hop = 0; hop <= hops; ++hop) {
      std::vector<int32_t> next;
      for (const int32_t one : front) {
        within[static_cast<size_t>(one)] = true;
        next.insert(next.end(), edges->Row(one).begin(), edges->Row(one).end());
      }
      SortUnique(next);
      front = next;
    }
  }
  return within;
}

TEST(PlacetoKernel, WithoutPoolingNothingCountsThatNoMessageReachesTheCurrentGroupFrom) {
  Rng rng(28);
  int changed = 0;
  int compared = 0;
  for (int trial = 0; trial < 60; ++trial) {
    PlacetoShape shape = RandomPlacetoShape(rng);
    shape.message_rounds = static_cast<int32_t>(rng.UniformInt(0, 3));
    PolicyWeights weights = RandomPlacetoWeights(shape, rng);
    PlacetoGraph graph = RandomPlacetoGraph(static_cast<int32_t>(rng.UniformInt(1, 60)), shape.num_devices, 2, rng);
    std::ranges::fill(graph.allowed, uint8_t{1});
    const OwnedState state = RandomPlacetoState(graph, rng);
    const std::vector<bool> heard = Within(graph, state.step, shape.message_rounds);
    PlacetoGraph other_graph = graph;
    OwnedState other = state;
    other.graph = &other_graph;
    for (size_t node = 0; node < heard.size(); ++node) {
      if (heard[node]) continue;
      for (auto* values : {&other_graph.cost, &other_graph.bytes, &other_graph.memory}) {
        (*values)[node] = static_cast<float>(rng.Uniform());
      }
      other.placement[node] = static_cast<uint8_t>(rng.UniformInt(0, shape.num_devices - 1));
      other.start_times[node] = static_cast<float>(rng.Uniform());
    }
    for (const KernelPath path : KernelPaths()) {
      weights.shape.sizes["pooling"] = 0;
      PlacetoKernel without(weights, path);
      EXPECT_EQ(Logits(without, {state.view()}), Logits(without, {other.view()})) << "trial " << trial;
      weights.shape.sizes["pooling"] = 1;
      PlacetoKernel with(weights, path);
      changed += static_cast<int>(Logits(with, {state.view()}) != Logits(with, {other.view()}));
      ++compared;
    }
  }
  EXPECT_GT(changed, compared / 2);
}

TEST(PlacetoKernel, WithZeroWeightsTheLogitsAreTheLastBiases) {
  Rng rng(24);
  PolicyWeights weights;
  const PlacetoShape shape{.num_devices = 3};
  weights.shape = shape;
  weights.values.assign(static_cast<size_t>(NumParameters(shape)), 0.0F);
  weights.values.end()[-3] = 0.5F;
  weights.values.end()[-2] = -1.5F;
  weights.values.end()[-1] = 2.5F;
  PlacetoGraph graph = RandomPlacetoGraph(20, 3, 4, rng);
  std::ranges::fill(graph.allowed, uint8_t{1});
  const OwnedState state = RandomPlacetoState(graph, rng);
  for (const KernelPath path : KernelPaths()) {
    PlacetoKernel kernel(weights, path);
    EXPECT_EQ(Logits(kernel, {state.view()}), (std::vector<float>{0.5F, -1.5F, 2.5F}));
  }
}

TEST(PlacetoKernel, AllocatesOnlyForALargerStateThanAnyBefore) {
  Rng rng(27);
  const PlacetoShape shape;
  PlacetoKernel kernel(RandomPlacetoWeights(shape, rng));
  const PlacetoGraph large = RandomPlacetoGraph(50, 2, 3, rng);
  const PlacetoGraph small = RandomPlacetoGraph(20, 2, 3, rng);
  const std::vector<OwnedState> states = {RandomPlacetoState(small, rng), RandomPlacetoState(large, rng)};
  const std::vector<PlacetoState> views = Views(states);
  std::vector<float> logits(4);
  kernel.Forward(views, logits);
  const int64_t before = AllocationsSoFar();
  kernel.Forward(views, logits);
  EXPECT_EQ(AllocationsSoFar(), before);
}

TEST(PlacetoKernel, KnowsWhatItWasMadeFrom) {
  Rng rng(25);
  const PolicyWeights weights = RandomPlacetoWeights(RandomPlacetoShape(rng), rng);
  PlacetoKernel kernel(weights);
  EXPECT_EQ(kernel.shape(), PlacetoShape::Of(weights.shape));
  EXPECT_EQ(kernel.version(), weights.version);
  EXPECT_EQ(kernel.path(), BestKernelPath());
  EXPECT_EQ(ToString(KernelPath::kPortable), "portable");
  EXPECT_EQ(ToString(KernelPath::kAvx2), "avx2");
  EXPECT_EQ(ToString(KernelPath::kAvx512), "avx512");
}

TEST(PlacetoKernel, CanBeMoved) {
  Rng rng(26);
  const PlacetoShape shape;
  const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
  const PlacetoGraph graph = RandomPlacetoGraph(9, 2, 2, rng);
  const OwnedState state = RandomPlacetoState(graph, rng);
  PlacetoKernel kernel(weights);
  const std::vector<float> before = Logits(kernel, {state.view()});
  PlacetoKernel moved = std::move(kernel);
  EXPECT_EQ(Logits(moved, {state.view()}), before);
}

}  // namespace
}  // namespace emplace
