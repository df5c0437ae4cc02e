#include "simulator/instances/instance_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "common/files/file_io.h"
#include "simulator/engine/simulator.h"
#include "simulator/graph/graph_io.h"
#include "simulator/instances/memory_sizes.h"
#include "simulator/instances/random_machine.h"
#include "tests/support/bad_input.h"
#include "tests/support/temp_folder.h"

namespace emplace {
namespace {

using testing::HasSubstr;

const InstanceConfig kSmall = {.min_ops = 30, .max_ops = 500, .min_devices = 2, .max_devices = 8};

// Everything of an instance, as files.
std::string TextOf(const Instance& instance) {
  return instance.name + "\n" + GraphToJson(instance.graph) + ClusterToYaml(instance.cluster);
}

TEST(InstanceSource, GivesTheSameBitsInAnyOrderAndFromAnyThread) {
  constexpr uint64_t kCount = 24;
  const InstanceSource source(kSmall, InstancePart::kTrain, 7);
  std::vector<std::string> expected;
  for (uint64_t number = 0; number < kCount; ++number) expected.push_back(TextOf(source.Make(number)));
  EXPECT_EQ(std::set<std::string>(expected.begin(), expected.end()).size(), kCount);

  const InstanceSource other(kSmall, InstancePart::kTrain, 7);
  std::vector<std::string> made(kCount);
  {
    std::vector<std::jthread> threads;
    for (uint64_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (uint64_t number = kCount; number-- > 0;) {
          if (number % 4 == thread) made[number] = TextOf(other.Make(number));
        }
      });
    }
  }
  EXPECT_EQ(made, expected);
}

// The bits of some instances on the machine on which this was written. Whoever changes what is drawn changes them.
TEST(InstanceSource, GivesTheSameBitsOnAnyMachine) {
  const auto hash_of = [](const std::string& text) {  // FNV-1a
    uint64_t hash = 14695981039346656037u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return hash;
  };
  std::string all;
  for (const InstancePart part : kInstanceParts) {
    const InstanceSource source(kSmall, part, 1);
    for (uint64_t number = 0; number < 20; ++number) all += TextOf(source.Make(number));
  }
  EXPECT_EQ(hash_of(all), 9627743589864917214u);
}

TEST(InstanceSource, DependsOnSeedAndPart) {
  const std::string first = TextOf(InstanceSource(kSmall, InstancePart::kTrain, 1).Make(0));
  EXPECT_NE(first, TextOf(InstanceSource(kSmall, InstancePart::kTrain, 2).Make(0)));
  EXPECT_NE(first, TextOf(InstanceSource(kSmall, InstancePart::kTest, 1).Make(0)));
}

TEST(InstanceSource, PartsShareNoGenerator) {
  std::set<std::string> all;
  size_t count = 0;
  for (const InstancePart part : kInstanceParts) {
    const std::vector<std::string> names = GeneratorNames(part);
    EXPECT_GE(names.size(), 5u);
    count += names.size();
    all.insert(names.begin(), names.end());
  }
  EXPECT_EQ(all.size(), count);
  for (const std::string& name : GeneratorNames(InstancePart::kTrain)) EXPECT_FALSE(IsReserved(name)) << name;
}

// Also makes the task of each, which checks the graph with the machine.
TEST(InstanceSource, EveryInstanceIsLegalAndHasAPlacementThatFits) {
  for (const InstancePart part : kInstanceParts) {
    const InstanceSource source({.min_ops = 16, .max_ops = 300, .min_devices = 2, .max_devices = 16}, part, 3);
    for (uint64_t number = 0; number < 60; ++number) {
      const Instance instance = source.Make(number);
      SCOPED_TRACE(instance.name);
      ASSERT_GE(instance.graph.num_ops(), 16);
      ASSERT_LE(instance.graph.num_ops(), 300);
      ASSERT_GE(instance.cluster.num_devices(), 2);
      ASSERT_LE(instance.cluster.num_devices(), 16);
      ASSERT_NO_THROW(CheckKinds(instance.graph, instance.cluster));
      // It can be written and read again.
      ASSERT_EQ(GraphToJson(ParseGraph(GraphToJson(instance.graph), "text")), GraphToJson(instance.graph));
      ASSERT_EQ(ClusterToYaml(ParseCluster(ClusterToYaml(instance.cluster), "text")), ClusterToYaml(instance.cluster));

      const PlacementTask task = TaskOf(instance);
      ASSERT_NO_THROW(task.sim.Validate());
      ASSERT_GE(task.single_device, 0);  // The first kind runs everything.
      const Placement placement = SpreadBytes(instance.graph, instance.cluster);
      ASSERT_NO_THROW(CheckPlacement(instance.graph, instance.cluster, placement));
      std::vector<int64_t> peaks(instance.cluster.devices.size());
      EXPECT_TRUE(std::isfinite(Simulator(task.sim).MakespanAndPeak(placement, peaks)));
      EXPECT_TRUE(task.sim.Fits(peaks));
    }
  }
}

// The ops of this butterfly are of one type, and its machine's second kind was drawn not to run it.
TEST(InstanceSource, EveryKindCanRunSomethingThatCosts) {
  const InstanceSource source({.min_ops = 100, .max_ops = 800, .min_devices = 2, .max_devices = 8}, InstancePart::kTest,
                              13);
  const Instance instance = source.Make(53);
  EXPECT_THAT(instance.name, HasSubstr("butterfly"));
  EXPECT_EQ(instance.graph.DeviceKinds(), (std::set<std::string>{"a", "b"}));
  EXPECT_NO_THROW(CheckKinds(instance.graph, instance.cluster));
}

// Shares of what the README says, over 500 instances.
TEST(InstanceSource, SpreadsOverSizesGeneratorsAndMachines) {
  constexpr int kCount = 500;
  const InstanceSource source({.min_ops = 50, .max_ops = 800}, InstancePart::kTrain, 5);
  std::map<std::string, int> generators;
  std::map<int32_t, int> devices;
  std::map<size_t, int> kinds;
  std::map<LinkModel, int> link_models;
  std::array<int, 4> by_size = {};  // 50 to 100, 200, 400, 800 ops.
  int training = 0;
  int microbatches = 0;
  int pieces = 0;
  int one_device_fits = 0;
  int slow_links = 0;
  int fast_links = 0;
  for (uint64_t number = 0; number < kCount; ++number) {
    const Instance instance = source.Make(number);
    const std::string generator = instance.name.substr(std::string("train_000000_").size());
    const auto ends_with = [&](const std::string& end) { return generator.ends_with(end); };
    pieces += ends_with("_cut") || ends_with("_contracted") ? 1 : 0;
    std::string name = generator;
    for (const char* end : {"_cut", "_contracted"}) {
      if (name.ends_with(end)) name.resize(name.size() - std::string(end).size());
    }
    ++generators[name];
    ++devices[instance.cluster.num_devices()];
    std::set<std::string> names;
    int64_t most_memory = 0;
    for (const Device& device : instance.cluster.devices) {
      names.insert(device.kind);
      most_memory = std::max(most_memory, device.memory_bytes);
    }
    ++kinds[names.size()];
    ++link_models[instance.cluster.link_model];
    ++by_size[static_cast<size_t>(std::clamp(std::log2(instance.graph.num_ops() / 50.0), 0.0, 3.0))];
    const auto any = [&](const auto& test) { return std::ranges::any_of(instance.graph.ops(), test); };
    training += any([](const Op& op) { return op.name.find("grad/") != std::string::npos; }) ? 1 : 0;
    microbatches += any([](const Op& op) { return op.copy_of != Op::kNoCopy; }) ? 1 : 0;
    int64_t all_bytes = 0;
    for (const Op& op : instance.graph.ops()) all_bytes += op.AllBytes();
    one_device_fits += most_memory >= all_bytes ? 1 : 0;
    const double bandwidth = 1 / MeanUsPerByte(instance.cluster);
    EXPECT_GE(bandwidth, 1e3);
    EXPECT_LE(bandwidth, 6e5);
    slow_links += bandwidth < 5e3 ? 1 : 0;
    fast_links += bandwidth > 100e3 ? 1 : 0;
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : generators) {
    names.push_back(name);
    // 6 shapes at 60%, 5 families at 40%: 50 and 40.
    EXPECT_NEAR(count, 45, 25) << name;
  }
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(GeneratorNames(InstancePart::kTrain)));
  EXPECT_EQ(devices.size(), 7u);
  for (const auto& [count, instances] : devices) EXPECT_NEAR(instances, kCount / 7.0, 30) << count;
  EXPECT_NEAR(kinds[1], 250, 50);
  EXPECT_EQ(kinds.rbegin()->first, 4u);
  EXPECT_NEAR(link_models[LinkModel::kShared], 175, 40);
  EXPECT_NEAR(link_models[LinkModel::kPerDestination], 125, 40);
  EXPECT_NEAR(link_models[LinkModel::kTopology], 200, 40);
  for (const int count : by_size) EXPECT_NEAR(count, kCount / 4.0, 45);
  EXPECT_NEAR(training, 300, 60);
  EXPECT_NEAR(microbatches, 200, 60);
  EXPECT_NEAR(pieces, 110, 40);  // 30% of the families, and those whose shortest network is too large.
  EXPECT_GT(one_device_fits, 150);
  EXPECT_LT(one_device_fits, 400);
  EXPECT_GT(slow_links, 50);
  EXPECT_GT(fast_links, 50);
}

TEST(InstanceSource, TakesGraphsOfTheCorpus) {
  const TempFolder folder;
  MakeFolder(folder.path() / "train");
  const Instance captured = InstanceSource(kSmall, InstancePart::kValidation, 1).Make(0);
  WriteFileAtomically(folder.path() / "train/captured.graph.json", GraphToJson(captured.graph));
  InstanceConfig config = kSmall;
  config.corpus = folder.path();
  config.corpus_share = 0.5;
  const InstanceSource source(config, InstancePart::kTrain, 1);
  int from_corpus = 0;
  for (uint64_t number = 0; number < 100; ++number)
    from_corpus += source.Make(number).name.find("_captured") != std::string::npos ? 1 : 0;
  EXPECT_NEAR(from_corpus, 50, 20);
}

TEST(InstanceSource, RefusesLimitsInTheWrongOrder) {
  const auto message_of = [](const InstanceConfig& config) {
    return BadInputOf([&] { InstanceSource(config, InstancePart::kTrain, 1); });
  };
  EXPECT_THAT(message_of({.min_ops = 200, .max_ops = 100}), HasSubstr("min_ops is 200, expected at most max_ops, 100"));
  EXPECT_THAT(message_of({.min_devices = 5, .max_devices = 4}), HasSubstr("min_devices is 5"));
  EXPECT_THAT(message_of({.max_devices = 17}), HasSubstr("max_devices is 17, expected 2..16"));
  EXPECT_THAT(message_of({.min_ops = 3}), HasSubstr("min_ops is 3"));
}

}  // namespace
}  // namespace emplace
