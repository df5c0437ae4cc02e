#include "policy/sgdp/sgdp_network.h"

#include <gtest/gtest.h>

#include <vector>

#include "policy/torch/one_shot.h"
#include "tests/policy/sgdp/naive_sgdp.h"
#include "tests/policy/sgdp/random_sgdp.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

TEST(SgdpNetwork, EqualsTheNaiveNetwork) {
  for (uint64_t seed = 0; seed < Trials(60); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.max_ops = 30, .max_groups = 20});
    const PolicyWeights weights = RandomSgdp(task.groups.num_devices, rng);
    const std::unique_ptr<OneShotNetwork> network = MakeSgdpNetwork(weights.shape);
    TorchParameters parameters(network->Parameters());
    parameters.Set(weights.values, /*with_gradient=*/false);
    const torch::Tensor logits = network->Logits(parameters, GroupTensors(MakeGroupFeatures(task.groups)));
    const std::vector<std::vector<double>> expected = NaiveSgdp(weights, task.groups);
    ASSERT_EQ(logits.size(0), std::ssize(expected));
    for (size_t g = 0; g < expected.size(); ++g) {
      for (size_t d = 0; d < expected[g].size(); ++d) {
        const auto value = logits[static_cast<int64_t>(g)][static_cast<int64_t>(d)].item<double>();
        ASSERT_NEAR(value, expected[g][d], 1e-4) << "seed " << seed << ", group " << g;
      }
    }
  }
}

}  // namespace
}  // namespace emplace
