// What the kernels of an update have to compute, against the list of the network's layers and arithmetic by hand.
#include "policy/placeto/cuda/kernel_work.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "policy/placeto/cuda/pipeline.h"
#include "tests/support/host_block.h"
#include "tests/support/random_batch.h"

namespace emplace {
namespace {

// With four devices all rows are multiples of four floats: features 8, m 8, e 16, D 64.
constexpr PlacetoShape kUnpadded{.num_devices = 4, .memory_feature = false, .message_rounds = 3, .message_width = 0};
// Two states of a graph of 10 nodes.
constexpr gpu::UpdateLoad kTwoStates{.small = {.count = 2, .nodes = 20}, .large = {}, .input_bytes = 1000};

gpu::Problem ProblemOf(const PlacetoShape& shape, int32_t max_nodes = 10, int32_t small_nodes = 10) {
  gpu::Problem problem;
  problem.plan = gpu::MakePlacetoPlan(shape);
  problem.max_nodes = max_nodes;
  problem.sizes = {.body_threads = 64, .forward_blocks = 6, .backward_blocks = 5, .small_nodes = small_nodes};
  return problem;
}

std::map<std::string, gpu::KernelWork> WorkOf(const PlacetoShape& shape, const gpu::UpdateLoad& load = kTwoStates) {
  std::map<std::string, gpu::KernelWork> by_name;
  for (const gpu::KernelWork& work : gpu::UpdateWork(ProblemOf(shape), load)) by_name[work.kernel] = work;
  return by_name;
}

// Of the kernels that are launched on the host.
class NameLauncher {
 public:
  template <typename Kernel>
  void Launch(const Kernel& /*kernel*/, int32_t /*blocks*/, int32_t /*threads*/, int64_t /*shared_bytes*/) {
    names.emplace_back(Kernel::kName);
  }
  std::vector<std::string> names;
};

TEST(KernelWork, IsOfTheKernelsOfAnUpdateInTheirOrder) {
  for (const int32_t small_nodes : {0, 5, 10}) {
    const gpu::Problem problem = ProblemOf(kUnpadded, 10, small_nodes);
    NameLauncher launcher;
    gpu::LaunchUpdate(launcher, problem, gpu::OptimizerState{}, nullptr, nullptr);
    std::vector<std::string> names;
    for (const gpu::KernelWork& work : gpu::UpdateWork(problem, kTwoStates)) names.emplace_back(work.kernel);
    EXPECT_EQ(names, launcher.names);
    EXPECT_EQ(names.size(), small_nodes == 5 ? 12U : 10U);
  }
}

TEST(KernelWork, ForwardIsTheLayersOfTheNetwork) {
  double expected = 0;
  for (const LayerSpec& layer : PlacetoLayers(kUnpadded)) {
    double rows = 2;  // Once a state.
    if (layer.name.starts_with("self.")) rows = 20;
    if (layer.name.starts_with("forward.") || layer.name.starts_with("backward.")) rows = 3 * 20;
    // Each of the nine nodes beside the current one is in one of three sets of the same layers.
    if (layer.name.find(".F.") != std::string::npos) rows = 2 * 9 / 3.0;
    expected += 2 * rows * layer.in * layer.out;
  }
  auto work = WorkOf(kUnpadded);
  EXPECT_EQ(work["body_forward"].flops + work["head_forward"].flops, expected);
  EXPECT_EQ(work["head_backward"].flops, work["head_forward"].flops);
  EXPECT_EQ(work["head_gradient"].flops, work["head_forward"].flops);
}

TEST(KernelWork, TheBackwardPassComputesARoundFourTimes) {
  PlacetoShape longer = kUnpadded;
  ++longer.message_rounds;
  auto work = WorkOf(kUnpadded);
  auto more = WorkOf(longer);
  const double forward = more["body_forward"].flops - work["body_forward"].flops;
  EXPECT_EQ(forward, 20.0 * 8 * 2 * 8 * 8);  // 20 nodes, four layers in each direction, 8 x 8.
  EXPECT_EQ(more["body_backward"].flops - work["body_backward"].flops, 4 * forward);
  // Once more without the rounds, by hand: self is three layers of 8 x 8, a set's two are 16 x 16.
  const double self = 20.0 * 3 * 2 * 8 * 8;
  const double sets = 18.0 * 2 * 2 * 16 * 16;
  EXPECT_EQ(work["body_forward"].flops, 3 * forward + self + sets);
  EXPECT_EQ(work["body_backward"].flops, 3 * 4 * forward + 4 * self - self / 3 + 3 * sets);
}

TEST(KernelWork, PaddingCounts) {
  PlacetoShape padded = kUnpadded;
  padded.num_devices = 3;  // Features 7, m 7, e 14: each is padded to what it is with four devices.
  EXPECT_EQ(WorkOf(padded)["body_forward"].flops, WorkOf(kUnpadded)["body_forward"].flops);
}

TEST(KernelWork, WithoutPoolsTheSetsAreNotComputed) {
  PlacetoShape plain = kUnpadded;
  plain.pooling = false;
  auto work = WorkOf(plain);
  // The classifier: 64 -> 128 -> 64 -> 4.
  EXPECT_EQ(work["head_forward"].flops, 2.0 * 2 * (64 * 128 + 128 * 64 + 64 * 4));
  EXPECT_EQ(WorkOf(kUnpadded)["body_forward"].flops - work["body_forward"].flops, 18.0 * 2 * 2 * 16 * 16);
}

TEST(KernelWork, BytesAreThoseOfTheArrays) {
  const auto parameters = static_cast<double>(NumParameters(kUnpadded));
  auto work = WorkOf(kUnpadded);
  EXPECT_EQ(work["adam"].bytes, 4 * 8 * parameters);
  // Logits and their gradient, four devices; loss, entropy and ratio; and the state itself.
  EXPECT_EQ(work["loss"].bytes, 2.0 * (4 * (4 + 4 + 3) + sizeof(gpu::StateEntry)));
  // The body's layers: self 3, rounds 8, of 8 x 8 with bias; sets 6 of 16 x 16. It hands on four rows of 16 a state.
  const double weights = 4.0 * (11 * 9 * 8 + 6 * 17 * 16);
  EXPECT_EQ(work["body_forward"].bytes, weights + 1000 + 2 * 4 * 16 * 4.0);
  // The head's: six of 16 x 16, and the classifier. Rows a state: 2 x 3 x 16, 4 x 16, 128, 64, 4.
  const double head = 4.0 * (6 * 17 * 16 + 65 * 128 + 129 * 64 + 65 * 4);
  EXPECT_EQ(work["head_forward"].bytes, head + 2 * 4.0 * (96 + 64 + 128 + 64 + 4));
}

TEST(KernelWork, TheLoadIsThatOfTheBatch) {
  Rng rng(71);
  const RandomBatch batch(kUnpadded, {5, 30, 31}, rng);
  const std::vector<const PlacetoGraph*> pointers = batch.graph_pointers();
  const gpu::CompactGraphs graphs(pointers, kUnpadded.num_devices);
  const gpu::UpdateLoad load = gpu::LoadOf(graphs, batch.sources(), batch.states, 30);
  double nodes = 0;
  double large = 0;
  for (const gpu::StateEntry& state : batch.states) {
    const int32_t graph = batch.episodes[static_cast<size_t>(state.episode)].graph;
    nodes += batch.graphs[static_cast<size_t>(graph)].num_nodes;
    large += graph == 2 ? 1 : 0;
  }
  ASSERT_GT(large, 0);
  EXPECT_EQ(load.small.count + load.large.count, static_cast<double>(batch.states.size()));
  EXPECT_EQ(load.large.count, large);
  EXPECT_EQ(load.large.nodes, 31 * large);
  EXPECT_EQ(load.small.nodes + load.large.nodes, nodes);
  EXPECT_GT(load.input_bytes, static_cast<double>(graphs.bytes().size()));
}

}  // namespace
}  // namespace emplace
