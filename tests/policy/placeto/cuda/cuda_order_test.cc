// The GPU's kernels, run on the host: nothing depends on the order of work, on what shares a batch, or on where arrays
// lie.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "policy/placeto/placeto_shape.h"
#include "tests/support/host_block.h"
#include "tests/support/random_batch.h"
#include "tests/support/random_policy.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// Another order of the items within phases, and of the blocks, changes no bit: there is no race.
TEST(PlacetoCudaOrder, OrderOfItemsDoesNotMatter) {
  Rng rng(42);
  for (uint64_t trial = 0; trial < Trials(6); ++trial) {
    PlacetoShape shape = RandomGpuShape(rng);
    shape.pooling = trial % 3 != 0;
    const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
    const RandomBatch batch(shape, RandomNodeCounts(rng), rng);
    const gpu::LaunchSizes sizes = RandomLaunchSizes(40, rng);
    std::vector<float> d_logits(batch.states.size() * static_cast<size_t>(shape.num_devices));
    for (float& d : d_logits) d = static_cast<float>(rng.Uniform(-1, 1));
    std::vector<float> logits;
    std::vector<float> gradient;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      HostPolicy policy(shape, batch.graph_pointers(), sizes, seed);
      policy.SetBatch(batch.sources(), batch.states);
      const std::vector<float> these_logits = policy.Forward(weights.values);
      const std::vector<float> this_gradient = policy.Backward(d_logits);
      if (seed == 1) {
        logits = these_logits;
        gradient = this_gradient;
      }
      EXPECT_EQ(these_logits, logits);
      EXPECT_EQ(this_gradient, gradient);
    }
  }
}

// A state's logits do not depend on the batch, on shared or global memory, or on how the work is cut.
TEST(PlacetoCudaOrder, LogitsAreTheSameInAnyBatch) {
  Rng rng(43);
  const PlacetoShape shape{.num_devices = 3, .memory_feature = true, .message_rounds = 3, .message_width = 0};
  const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
  const RandomBatch batch(shape, {1, 20, 50}, rng);
  HostPolicy together(shape, batch.graph_pointers(), RandomLaunchSizes(50, rng), 1);
  together.SetBatch(batch.sources(), batch.states);
  const std::vector<float> all = together.Forward(weights.values);
  const auto devices = static_cast<size_t>(shape.num_devices);
  for (size_t s = 0; s < batch.states.size(); ++s) {
    HostPolicy alone(shape, batch.graph_pointers(), RandomLaunchSizes(s % 2 == 0 ? 0 : 30, rng), s);
    alone.SetBatch(batch.sources(), {batch.states[s]});
    const auto begin = all.begin() + static_cast<ptrdiff_t>(s * devices);
    EXPECT_EQ(alone.Forward(weights.values), std::vector<float>(begin, begin + shape.num_devices));
  }
}

TEST(PlacetoCudaOrder, WithoutPoolingItsParametersNeitherCountNorLearn) {
  Rng rng(46);
  for (uint64_t trial = 0; trial < Trials(6); ++trial) {
    PlacetoShape shape = RandomGpuShape(rng);
    shape.pooling = false;
    PolicyWeights weights = RandomPlacetoWeights(shape, rng);
    const RandomBatch batch(shape, RandomNodeCounts(rng), rng);
    HostPolicy policy(shape, batch.graph_pointers(), RandomLaunchSizes(40, rng), rng.Next());
    policy.SetBatch(batch.sources(), batch.states);
    const std::vector<float> logits = policy.Forward(weights.values);
    std::vector<float> d_logits;
    for (const float logit : logits) d_logits.push_back(std::isinf(logit) ? 0.0F : 1.0F);
    const std::vector<float> gradient = policy.Backward(d_logits);

    const std::vector<bool> pooling = IsOfPooling(shape);
    const std::vector<float> other_values = RandomPlacetoWeights(shape, rng).values;
    int learning = 0;
    for (size_t i = 0; i < gradient.size(); ++i) {
      if (pooling[i]) {
        EXPECT_EQ(gradient[i], 0.0F) << i;
        weights.values[i] = other_values[i];
      } else if (gradient[i] != 0.0F) {
        ++learning;
      }
    }
    EXPECT_GT(learning, 10);
    EXPECT_EQ(policy.Forward(weights.values), logits);
  }
}

TEST(PlacetoCudaOrder, AGradientThatIsNotFiniteLeavesTheWeights) {
  Rng rng(45);
  const PlacetoShape shape{.num_devices = 2, .memory_feature = false, .message_rounds = 2, .message_width = 0};
  PolicyWeights weights = RandomPlacetoWeights(shape, rng);
  const RandomBatch batch(shape, {9}, rng);
  HostPolicy policy(shape, batch.graph_pointers(), RandomLaunchSizes(40, rng), 1);
  policy.SetBatch(batch.sources(), batch.states,
                  {.learning_rate = 1e-3, .gradient_clip = 1, .entropy_weight = 0.1F, .importance_clip = 2});
  for (const float broken : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    HostOptimizer optimizer(weights.values);
    optimizer.values[3] = broken;  // A weight of the first layer, so that it goes through everything.
    const std::vector<float> before = optimizer.values;
    std::vector<float> copy;
    const gpu::UpdateReport report = policy.Update(optimizer.view(), copy);
    EXPECT_EQ(report.applied, 0);
    EXPECT_EQ(report.adam_steps, 0);
    EXPECT_FALSE(std::isfinite(report.gradient_norm));
    for (const auto* values : {&copy, &optimizer.values}) {
      for (size_t i = 0; i < before.size(); ++i) {
        EXPECT_TRUE((*values)[i] == before[i] || (i == 3 && !std::isfinite((*values)[i])));
      }
    }
    EXPECT_EQ(optimizer.mean, std::vector<float>(before.size(), 0.0F));
  }
}

}  // namespace
}  // namespace emplace
