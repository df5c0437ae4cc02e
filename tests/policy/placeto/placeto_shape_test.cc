#include "policy/placeto/placeto_shape.h"

#include <gtest/gtest.h>

#include <set>

#include "common/rng.h"
#include "tests/support/random_policy.h"

namespace emplace {
namespace {

TEST(PlacetoShape, CountsTheFeaturesOfTheDesign) {
  // cost, bytes, one-hot of 2, visited, current = 6; with memory 7; of 5 devices 9.
  EXPECT_EQ(PlacetoShape{}.num_features(), 6);
  EXPECT_EQ((PlacetoShape{.num_devices = 2, .memory_feature = true}).num_features(), 7);
  EXPECT_EQ((PlacetoShape{.num_devices = 5}).num_features(), 9);
  EXPECT_EQ((PlacetoShape{.num_devices = 5, .memory_feature = true, .start_times = true}).num_features(), 11);
}

TEST(PlacetoShape, WidthIsTheNumberOfFeaturesUnlessConfigured) {
  EXPECT_EQ(PlacetoShape{}.width(), 6);
  EXPECT_EQ(PlacetoShape{}.pooled_width(), 48);
  EXPECT_EQ((PlacetoShape{.message_width = 16}).width(), 16);
  EXPECT_EQ((PlacetoShape{.message_width = 16}).pooled_width(), 128);
}

TEST(PlacetoShape, CountsParametersOfTheDefaultPolicy) {
  // F = m = 6, 2m = 12, D = 48. self: 3 * (6*6+6) = 126. f, g, both directions: 8 * 42 = 336.
  // Pools: 12 * (12*12+12) = 1872. Classifier: 48*96+96 + 96*48+48 + 48*2+2 = 4704 + 4656 + 98 = 9458.
  EXPECT_EQ(NumParameters(PlacetoShape{}), 126 + 336 + 1872 + 9458);
}

TEST(PlacetoShape, LayersChainAndHaveNamesOfTheirOwn) {
  Rng rng(1);
  for (int trial = 0; trial < 50; ++trial) {
    const PlacetoShape shape = RandomPlacetoShape(rng);
    const std::vector<LayerSpec> layers = PlacetoLayers(shape);
    ASSERT_EQ(layers.size(), 26U);
    std::set<std::string> names;
    for (size_t i = 0; i < layers.size(); ++i) {
      EXPECT_TRUE(names.insert(layers[i].name).second) << layers[i].name;
      const bool continues = !layers[i].name.ends_with(".0");
      if (continues) {
        EXPECT_EQ(layers[i].in, layers[i - 1].out) << layers[i].name;
      }
    }
    EXPECT_EQ(layers.front().in, shape.num_features());
    EXPECT_EQ(layers.back().out, shape.num_devices);
  }
}

}  // namespace
}  // namespace emplace
