#include "simulator/families/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/graph/graph_io.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

FamilyOptions Small(int64_t count) { return {.count = count, .train = count, .size = "small"}; }

std::vector<DeviceKind> Kinds() { return LoadDeviceKinds(DefaultKindsFolder()); }

// The graph's file without the name.
std::string OpsOf(const OpGraph& graph) {
  const std::string text = GraphToJson(graph);
  return text.substr(text.find("\"ops\""));
}

TEST(Family, IsByteIdenticalForASeedAndDistinctWithin) {
  std::set<std::string> seen;
  const Family one = GenerateFamily(Small(12), Kinds());
  const Family two = GenerateFamily(Small(12), Kinds());
  for (size_t i = 0; i < one.graphs.size(); ++i) {
    EXPECT_EQ(GraphToJson(one.graphs[i]), GraphToJson(two.graphs[i]));
    EXPECT_TRUE(seen.insert(OpsOf(one.graphs[i])).second) << i;
  }
}

TEST(Family, OfEveryNameIsByteIdenticalForASeedAndDistinctWithin) {
  for (const std::string& name : FamilyNames()) {
    if (IsSingleNetwork(name)) continue;
    FamilyOptions options = Small(3);
    options.family = name;
    options.validation = 1;
    Family one = GenerateFamily(options, Kinds());
    Family two = GenerateFamily(options, Kinds());
    std::set<std::string> names;
    std::set<std::string> ops;
    for (Family* const family : {&one, &two}) {
      family->graphs.push_back(std::move(family->validation[0]));
      for (const OpGraph& graph : family->graphs) {
        names.insert(graph.name());
        ops.insert(OpsOf(graph));
      }
    }
    EXPECT_EQ(names, (std::set<std::string>{name + "_00", name + "_01", name + "_02", name + "_validation_00"}));
    EXPECT_EQ(ops.size(), 4u) << name;
    options.seed = 99;
    EXPECT_FALSE(ops.contains(OpsOf(GenerateFamily(options, Kinds()).graphs[0]))) << name;
  }
}

double Flops(const FamilyOptions& options) {
  const Family family = GenerateFamily(options, Kinds());
  double flops = 0;
  for (const Op& op : family.graphs[0].ops()) flops += op.flops;
  return flops;
}

TEST(Family, FlopsGrowWithEverySizeOfARecurrentNetwork) {
  for (const std::string name : {"nmt", "rnnlm", "gnmt"}) {
    FamilyOptions options = Small(1);
    options.family = name;
    const Ranges ranges = RangesOf(options);
    for (const auto& [size, range] : ranges.ranges()) options.ranges.push_back(StrCat(size, "=", range.low));
    const double smallest = Flops(options);
    for (const auto& [size, range] : ranges.ranges()) {
      FamilyOptions larger = options;
      larger.ranges.push_back(StrCat(size, "=", 2 * range.low));
      EXPECT_GT(Flops(larger), smallest) << name << ", " << size;
    }
  }
}

// A network is a point of its family, and not another model.
TEST(Family, OfRnnlmAndGnmtHasTheNetworksOfThePaper) {
  struct Member {
    std::string network;
    std::string family;
    std::vector<std::string> sizes;
  };
  const Member members[] = {{"rnnlm2", "rnnlm", {"layers=2", "state=2048", "projection=512", "batch=128", "steps=100"}},
                            {"gnmt2", "gnmt", {"layers=2", "hidden=1024", "batch=128", "steps=50"}}};
  for (const auto& [network, family, sizes] : members) {
    const OpGraph alone = GenerateFamily({.family = network, .count = 1, .train = 1}, Kinds()).graphs[0];
    const FamilyOptions options = {.family = family, .count = 1, .train = 1, .ranges = sizes};
    EXPECT_TRUE(OpsOf(GenerateFamily(options, Kinds()).graphs[0]) == OpsOf(alone)) << network;  // Texts of megabytes.
  }
}

TEST(Family, OfGnmtHasAtLeastTwoLayers) {
  const FamilyOptions options = {.family = "gnmt", .count = 1, .train = 1, .size = "small", .ranges = {"layers=1"}};
  EXPECT_THAT(BadInputOf([&] { GenerateFamily(options, Kinds()); }),
              testing::HasSubstr("graph gnmt_00: layers is 1, expected at least 2"));
}

TEST(Family, ANegativeNumberOfValidationGraphsIsRefused) {
  const FamilyOptions options = {.family = "gnmt", .count = 1, .train = 1, .validation = -1, .size = "small"};
  EXPECT_EQ(BadInputOf([&] { GenerateFamily(options, Kinds()); }), "validation is -1, expected at least 0");
}

// What calls add is outputs and their bytes, no work; graphs without calls are those of programs that cannot be run.
TEST(Family, SizesOfNetworksTooLargeToHoldAreRefused) {
  const FamilyOptions options = {.family = "ptb", .count = 1, .train = 1, .size = "small", .ranges = {"steps=1000000"}};
  EXPECT_THAT(BadInputOf([&] { GenerateFamily(options, Kinds()); }),
              testing::HasSubstr("a network of more than 1000000 ops, expected smaller"));
}

TEST(Family, CallsLeaveFlopsAsTheyAre) {
  for (const std::string name : {"ptb", "cifar10", "wavenet2", "txl2"}) {
    FamilyOptions options = {.family = name, .count = 1, .train = 1, .size = IsSingleNetwork(name) ? "full" : "small"};
    const double flops = Flops(options);
    options.calls = true;
    EXPECT_EQ(Flops(options), flops) << name;
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
  for (const OpGraph& graph : family.graphs) graphs.insert(OpsOf(graph));
  for (const OpGraph& graph : family.validation) EXPECT_FALSE(graphs.contains(OpsOf(graph)));
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
