#include "simulator/families/family.h"

#include <gtest/gtest.h>

#include <set>

#include "common/error.h"
#include "simulator/graph/graph_io.h"

namespace emplace {
namespace {

FamilyOptions Small(int64_t count) { return {.count = count, .train = count, .size = "small"}; }

std::vector<DeviceKind> Kinds() { return LoadDeviceKinds(DefaultKindsFolder()); }

TEST(Family, IsByteIdenticalForASeedAndDistinctWithin) {
  std::set<std::string> seen;
  const Family one = GenerateFamily(Small(12), Kinds());
  const Family two = GenerateFamily(Small(12), Kinds());
  for (size_t i = 0; i < one.graphs.size(); ++i) {
    const std::string text = GraphToJson(one.graphs[i]);
    EXPECT_EQ(text, GraphToJson(two.graphs[i]));
    EXPECT_TRUE(seen.insert(text.substr(text.find("\"ops\""))).second) << i;  // Without the name.
  }
}

TEST(Family, AFirstGraphDoesNotDependOnTheCount) {
  EXPECT_EQ(GraphToJson(GenerateFamily(Small(1), Kinds()).graphs[0]),
            GraphToJson(GenerateFamily(Small(5), Kinds()).graphs[0]));
}

TEST(Family, ASingleNetworkIsOneGraphOfItsOwnName) {
  FamilyOptions options{.family = "inception_v3", .count = 1, .train = 1};
  const Family family = GenerateFamily(options, Kinds());
  ASSERT_EQ(family.graphs.size(), 1u);
  EXPECT_EQ(family.graphs[0].name(), "inception_v3");
  EXPECT_EQ(family.train.size(), 1u);
  options.validation = 2;
  EXPECT_THROW(GenerateFamily(options, Kinds()), Error);
  options = {.family = "inception_v3", .count = 2, .train = 1};
  EXPECT_THROW(GenerateFamily(options, Kinds()), Error);
}

TEST(Family, TheSplitIsFixedAndAPartition) {
  FamilyOptions options = Small(32);
  options.train = 20;
  const Family family = GenerateFamily(options, Kinds());
  options.seed = 99;
  EXPECT_EQ(family.train, GenerateFamily(options, Kinds()).train);
  std::set<size_t> all(family.train.begin(), family.train.end());
  all.insert(family.test.begin(), family.test.end());
  EXPECT_EQ(family.train.size(), 20u);
  EXPECT_EQ(family.test.size(), 12u);
  EXPECT_EQ(all.size(), 32u);
}

TEST(Family, ValidationGraphsAreNoneOfTheOthers) {
  FamilyOptions options = Small(8);
  options.validation = 8;
  const Family family = GenerateFamily(options, Kinds());
  std::set<std::string> graphs;
  const auto ops_of = [](const OpGraph& graph) {
    const std::string text = GraphToJson(graph);
    return text.substr(text.find("\"ops\""));
  };
  for (const OpGraph& graph : family.graphs) graphs.insert(ops_of(graph));
  for (const OpGraph& graph : family.validation) EXPECT_FALSE(graphs.contains(ops_of(graph)));
}

TEST(Family, GraphsSurviveTheRoundTripThroughTheirFile) {
  const Family family = GenerateFamily(Small(3), Kinds());
  for (const OpGraph& graph : family.graphs) {
    const std::string text = GraphToJson(graph);
    EXPECT_EQ(GraphToJson(ParseGraph(text, "test")), text);
  }
}

TEST(Family, BadOptionsAreRefused) {
  EXPECT_THROW(GenerateFamily({.family = "cifar"}, Kinds()), Error);
  EXPECT_THROW(GenerateFamily({.count = 0}, Kinds()), Error);
  EXPECT_THROW(GenerateFamily({.count = 3, .train = 4}, Kinds()), Error);
  EXPECT_THROW(GenerateFamily({.count = 3, .train = 2, .size = "huge"}, Kinds()), Error);
}

}  // namespace
}  // namespace emplace
