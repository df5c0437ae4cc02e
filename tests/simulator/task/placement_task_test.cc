#include "simulator/task/placement_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "common/error.h"
#include "simulator/engine/simulator.h"
#include "simulator/task/task_bundle.h"
#include "tests/support/bad_input.h"
#include "tests/support/make_op.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

std::vector<NamedArray> Arrays(const PlacementTask& task) { return ToBundle(task).arrays(); }

bool SameArrays(const std::vector<NamedArray>& a, const std::vector<NamedArray>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const NamedArray& x, const NamedArray& y) {
    return x.name == y.name && x.type == y.type && x.bytes == y.bytes;
  });
}

// Replaces element `index` of the named array.
template <typename T>
void Overwrite(ArrayBundle& bundle, const std::string& name, size_t index, T value) {
  for (NamedArray& array : bundle.arrays()) {
    if (array.name != name) continue;
    ASSERT_LE((index + 1) * sizeof(T), array.bytes.size());
    std::memcpy(array.bytes.data() + index * sizeof(T), &value, sizeof(T));
    return;
  }
  FAIL() << "no array " << name;
}

// a (10 us) -> b (20 us) and a -> c (30 us), which only kind "y" may run; two devices of different kinds.
PlacementTask SmallTask(LinkModel link_model = LinkModel::kShared) {
  const auto op = [](const std::string& name, double cost_us, std::vector<OpInput> inputs) {
    Op made;
    made.name = name;
    made.type = "t";
    made.cost = OpCost::Everywhere(cost_us);
    made.inputs = std::move(inputs);
    made.outputs = {{.bytes = 100, .shape = {}, .dtype = ""}};
    return made;
  };
  std::vector<Op> ops = {op("a", 10, {}), op("b", 20, {{0, 0}}), op("c", 30, {{0, 0}})};
  ops[2].allowed = {"y"};
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 1000000}, {"d:1", "y", 1000000}};
  cluster.bandwidth_bytes_per_us = 100;
  cluster.link_model = link_model;
  if (link_model == LinkModel::kTopology) cluster.topology = {{"d:0", "d:1"}, {{"link", 0, 1, 100, 1}}};
  return PlacementTask::Make(OpGraph("small", ops), cluster, 8);
}

TEST(PlacementTask, KnowsMicrobatchesAndWhatTheyRepeat) {
  std::vector<Op> ops;
  for (const char* const name : {"w", "a", "b", "a1", "a2", "b1"}) ops.push_back(MakeOp(name, 1, {}));
  for (const size_t copy : {size_t{3}, size_t{4}}) ops[copy].copy_of = 1;
  ops[5].copy_of = 2;
  Cluster cluster;
  for (const char* const name : {"gpu:0", "gpu:1"}) cluster.devices.push_back({name, "gpu", 1000});
  const PlacementTask task = PlacementTask::Make(OpGraph("g", ops), cluster, 4);
  EXPECT_TRUE(task.HasMicrobatches());
  EXPECT_EQ(task.microbatch_of_op, (std::vector<int32_t>{-1, 0, 0, 1, 2, 1}));
  EXPECT_EQ(task.copy_of_op, (std::vector<OpIndex>{0, 1, 2, 1, 1, 2}));
}

TEST(PlacementTask, AnOpThatNoDeviceMayRunIsAnError) {
  Op any, other;
  any.name = "a";
  any.cost = OpCost::Everywhere(3);
  other.name = "b";
  other.cost = OpCost::ByKind({{"tpu", 1}, {"cpu", 2}});
  other.allowed = {"tpu", "gpu"};
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 1000}, {"d:1", "y", 1000}};
  cluster.bandwidth_bytes_per_us = 100;
  try {
    CheckKinds(OpGraph("g", {any, other}), cluster);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "op 'b': no device may run it, expected one of kind tpu; the devices are of kind x, y");
  }
}

TEST(PlacementTask, ADeviceThatMayRunNothingIsAnError) {
  Op op;
  op.name = "a";
  op.type = "t";
  op.cost = OpCost::ByKind({{"x", 1}, {"y", 2}});
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 1000}, {"d:1", "z", 1000}};
  cluster.bandwidth_bytes_per_us = 100;
  try {
    CheckKinds(OpGraph("g", {op}), cluster);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "device 'd:1' is of kind 'z', which may run no op of graph 'g' that has a cost, expected one of: x, y");
  }
  std::map<std::string, double> many = {{"rtx2080", 1}, {"x", 1}};
  for (int i = 0; i < 20; ++i) many["rtx_" + std::to_string(100 + i)] = 1;
  op.cost = OpCost::ByKind(many);
  cluster.devices[1].kind = "rtx_2080";
  EXPECT_THAT(BadInputOf([&] { CheckKinds(OpGraph("g", {op}), cluster); }),
              testing::HasSubstr("expected one of: rtx2080, rtx_100, rtx_101, "));
  cluster.devices[1].kind = "z";
  op.cost = OpCost::ByKind({{"x", 0}, {"z", 0}});  // A kind that is named may run it, even if it costs nothing.
  CheckKinds(OpGraph("g", {op}), cluster);
  op.cost = OpCost::ByKind({{"x", 1}, {"z", 2}});  // Nor does it have to be allowed there.
  op.allowed = {"x"};
  CheckKinds(OpGraph("g", {op}), cluster);
  op.allowed.clear();
  op.cost = OpCost::Everywhere(0);  // Nobody works here anyway.
  CheckKinds(OpGraph("g", {op}), cluster);
}

TEST(PlacementTask, TheSingleDeviceIsTheOneThatMayRunEverything) {
  const PlacementTask task = SmallTask();
  EXPECT_EQ(task.single_device, 1);
  EXPECT_EQ(task.single_device_us, 60);  // 10 + 20 + 30, no overheads, no transfers
}

TEST(PlacementTask, ExpandGivesEachOpTheDeviceOfItsGroup) {
  Rng rng(1);
  const PlacementTask task = RandomTask(rng);
  std::vector<uint8_t> groups;
  for (int32_t g = 0; g < task.groups.num_groups; ++g) {
    groups.push_back(static_cast<uint8_t>(RandomAllowedDevice(task.groups, g, rng)));
  }
  std::vector<DeviceIndex> ops(task.group_of_op.size());
  task.Expand(groups, ops);
  for (size_t o = 0; o < ops.size(); ++o) EXPECT_EQ(ops[o], groups[static_cast<size_t>(task.group_of_op[o])]);
}

TEST(PlacementTask, TravelsUnchanged) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.restricted = 0.2, .link_model = static_cast<LinkModel>(seed % 3)});
    const PlacementTask back = TaskFromBundle(ToBundle(task));
    ASSERT_TRUE(SameArrays(Arrays(task), Arrays(back))) << "seed " << seed;
    // What is not sent is derived again.
    ASSERT_EQ(back.groups.children, task.groups.children);
    ASSERT_EQ(back.groups.num_devices, task.groups.num_devices);
    ASSERT_EQ(back.sim.link_model, task.sim.link_model);
    ASSERT_EQ(back.sim.routes, task.sim.routes);
  }
}

// No policy, method or rollout would know what to do with one.
TEST(PlacementTask, OneWithoutOpsIsRefused) {
  Cluster cluster;
  cluster.devices = {{"d:0", "x", 1000}};
  cluster.bandwidth_bytes_per_us = 1;
  for (const bool for_episodes : {false, true}) {
    try {
      const OpGraph graph("none", {});
      for_episodes ? PlacementTask::MakeForEpisodes(graph, cluster, 4) : PlacementTask::Make(graph, cluster, 4);
      ADD_FAILURE() << "made";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "graph 'none' has no ops, expected something to place");
    }
  }
  PlacementTask task;
  task.sim = SimGraph::Compile(OpGraph("none", {}), cluster);
  task.groups.num_devices = 1;
  try {
    TaskFromBundle(ToBundle(task));
    ADD_FAILURE() << "read";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "task: 'groups.count' is 0, expected 1..0");
  }
}

TEST(PlacementTask, EveryArrayIsNeededAndHasItsSize) {
  // Has all arrays that the other models have, and its own.
  const PlacementTask task = SmallTask(LinkModel::kTopology);
  for (size_t i = 0; i < Arrays(task).size(); ++i) {
    ArrayBundle missing = ToBundle(task);
    const std::string name = missing.arrays()[i].name;
    missing.arrays().erase(missing.arrays().begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THROW(TaskFromBundle(missing), Error) << name;
    if (name == "name") continue;  // Any text will do.
    ArrayBundle longer = ToBundle(task);
    NamedArray& array = longer.arrays()[i];
    array.bytes.resize(array.bytes.size() + SizeOf(array.type));
    EXPECT_THROW(TaskFromBundle(longer), Error) << name;
    ArrayBundle shorter = ToBundle(task);
    shorter.arrays()[i].bytes.resize(shorter.arrays()[i].bytes.size() - SizeOf(shorter.arrays()[i].type));
    EXPECT_THROW(TaskFromBundle(shorter), Error) << name;
  }
}

TEST(PlacementTask, RefusesWhatIsOutOfRange) {
  const PlacementTask task = SmallTask();
  const auto refused = [&](const std::function<void(ArrayBundle&)>& damage) {
    ArrayBundle bundle = ToBundle(task);
    damage(bundle);
    try {
      TaskFromBundle(bundle);
    } catch (const Error& error) {
      return error.exit_code() == 2 && std::string(error.what()).find('\n') == std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int32_t>(b, "sim.sizes", 0, -1); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int32_t>(b, "sim.sizes", 1, 256); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int32_t>(b, "sim.sizes", 2, 3); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int32_t>(b, "sim.sizes", 2, 2); }));  // A topology without routes.
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<double>(b, "sim.cost_us", 0, -1.0); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<double>(b, "sim.machine", 1, 0.0); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<double>(b, "sim.machine", 0, std::nan("")); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int32_t>(b, "sim.consumers.items", 0, 3); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int32_t>(b, "groups.count", 0, 4); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int32_t>(b, "groups.count", 0, -1); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<double>(b, "groups.cost_us", 0, std::nan("")); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int64_t>(b, "groups.output_bytes", 0, -1); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int32_t>(b, "groups.parents.items", 0, 1); }));  // Its own parent.
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int32_t>(b, "groups.parents.items", 0, -1); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int32_t>(b, "groups.parents.begin", 1, 5); }));  // Falls again.
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<uint8_t>(b, "groups.allowed", 0, 2); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int32_t>(b, "group_of_op", 0, 3); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int32_t>(b, "group_of_op", 0, -1); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<int32_t>(b, "single_device", 0, 2); }));
  EXPECT_TRUE(refused([](ArrayBundle& b) { Overwrite<double>(b, "single_device_us", 0, std::nan("")); }));
  // Op c may not run on device 0, whatever the group says.
  const auto group_of_c = static_cast<size_t>(task.group_of_op[2]);
  EXPECT_TRUE(refused([&](ArrayBundle& b) { Overwrite<uint8_t>(b, "groups.allowed", group_of_c * 2, 1); }));
  // Nowhere to go.
  EXPECT_TRUE(refused([&](ArrayBundle& b) { Overwrite<uint8_t>(b, "groups.allowed", group_of_c * 2 + 1, 0); }));
}

TEST(PlacementTask, DamagedBytesAreRefusedOrHarmless) {
  for (uint64_t seed = 0; seed < Trials(3000); ++seed) {
    Rng rng(seed);
    ArrayBundle bundle = ToBundle(RandomTask(
        rng, {.max_ops = 12, .max_groups = 6, .restricted = 0.2, .link_model = static_cast<LinkModel>(seed % 3)}));
    NamedArray& array =
        bundle.arrays()[static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(bundle.arrays().size()) - 1))];
    if (array.bytes.empty()) continue;
    array.bytes[static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(array.bytes.size()) - 1))] =
        static_cast<uint8_t>(rng.UniformInt(0, 255));
    try {
      const PlacementTask task = TaskFromBundle(bundle);
      // Accepted: then it can be run.
      std::vector<uint8_t> groups;
      for (int32_t g = 0; g < task.groups.num_groups; ++g) {
        groups.push_back(static_cast<uint8_t>(RandomAllowedDevice(task.groups, g, rng)));
      }
      std::vector<DeviceIndex> ops(task.group_of_op.size());
      task.Expand(groups, ops);
      std::vector<int64_t> peak_bytes(static_cast<size_t>(task.sim.num_devices));
      Simulator simulator(task.sim);
      ASSERT_GE(simulator.MakespanAndPeak(ops, peak_bytes), 0);
    } catch (const Error& error) {
      ASSERT_EQ(error.exit_code(), 2) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace emplace
