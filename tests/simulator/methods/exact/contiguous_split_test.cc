#include "simulator/methods/exact/contiguous_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "common/rng.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

SplitProblem RandomProblem(Rng& rng, int32_t most_nodes) {
  SplitProblem problem;
  const auto nodes = static_cast<int32_t>(rng.UniformInt(1, most_nodes));
  const auto classes = static_cast<size_t>(rng.UniformInt(1, 2));
  DeviceIndex device = 0;
  for (size_t c = 0; c < classes; ++c) {
    SplitProblem::DeviceClass& devices = problem.classes.emplace_back();
    for (int64_t i = rng.UniformInt(1, 2); i > 0; --i) devices.devices.push_back(device++);
    devices.room_bytes = rng.UniformInt(0, 1) == 0 ? kInfinite : static_cast<double>(rng.UniformInt(5, 30));
  }
  for (int32_t i = 0; i < nodes; ++i) {
    SplitProblem::Node& node = problem.nodes.emplace_back();
    for (size_t c = 0; c < classes; ++c) {
      node.cost_us.push_back(rng.UniformInt(0, 9) == 0 ? kInfinite : static_cast<double>(rng.UniformInt(0, 20)));
    }
    node.bytes = static_cast<double>(rng.UniformInt(0, 8));
    if (i == 0) continue;
    for (int64_t e = rng.UniformInt(0, 2); e > 0; --e) {
      problem.edges.emplace_back(static_cast<int32_t>(rng.UniformInt(0, i - 1)), i);
    }
  }
  for (int64_t t = rng.UniformInt(0, 2 * nodes); t > 0 && nodes > 1; --t) {
    SplitProblem::Tensor tensor{static_cast<double>(rng.UniformInt(0, 10)), 0, {}};
    tensor.maker = static_cast<int32_t>(rng.UniformInt(0, nodes - 1));
    std::set<int32_t> readers;
    for (int64_t r = rng.UniformInt(1, 3); r > 0; --r) {
      readers.insert(static_cast<int32_t>(rng.UniformInt(0, nodes - 1)));
    }
    readers.erase(tensor.maker);
    tensor.readers.assign(readers.begin(), readers.end());
    if (!tensor.readers.empty()) problem.tensors.push_back(tensor);
  }
  return problem;
}

int32_t NumDevices(const SplitProblem& problem) {
  int32_t devices = 0;
  for (const auto& devices_of_class : problem.classes) devices += static_cast<int32_t>(devices_of_class.devices.size());
  return devices;
}

// Whether no data flows in a circle between devices: whether they have an order in which all edges lead on.
bool IsContiguous(const SplitProblem& problem, const std::vector<DeviceIndex>& device_of) {
  std::vector<DeviceIndex> order(static_cast<size_t>(NumDevices(problem)));
  std::iota(order.begin(), order.end(), 0);
  do {
    const bool leads_on = std::all_of(problem.edges.begin(), problem.edges.end(), [&](const auto& edge) {
      const auto at = [&](int32_t node) {
        return std::find(order.begin(), order.end(), device_of[static_cast<size_t>(node)]);
      };
      return at(edge.first) <= at(edge.second);
    });
    if (leads_on) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

bool FitsRooms(const SplitProblem& problem, const std::vector<DeviceIndex>& device_of) {
  for (const auto& devices_of_class : problem.classes) {
    for (const DeviceIndex device : devices_of_class.devices) {
      double bytes = 0;
      for (size_t i = 0; i < device_of.size(); ++i) {
        if (device_of[i] == device) bytes += problem.nodes[i].bytes;
      }
      if (bytes > devices_of_class.room_bytes) return false;
    }
  }
  return true;
}

// The load by the definition, device by device.
double MaxLoad(const SplitProblem& problem, const std::vector<DeviceIndex>& device_of) {
  double greatest = 0;
  for (size_t c = 0; c < problem.classes.size(); ++c) {
    for (const DeviceIndex device : problem.classes[c].devices) {
      double load = 0;
      const auto here = [&](int32_t node) { return device_of[static_cast<size_t>(node)] == device; };
      for (size_t i = 0; i < device_of.size(); ++i) {
        if (here(static_cast<int32_t>(i))) load += problem.nodes[i].cost_us[c];
      }
      for (const SplitProblem::Tensor& tensor : problem.tensors) {
        const bool any = std::any_of(tensor.readers.begin(), tensor.readers.end(), here);
        const bool all = std::all_of(tensor.readers.begin(), tensor.readers.end(), here);
        if (here(tensor.maker) ? !all : any) load += tensor.us;
      }
      greatest = std::max(greatest, load);
    }
  }
  return greatest;
}

// By trying every division: the least greatest load by the number of devices that have nodes.
std::vector<double> ByTrying(const SplitProblem& problem) {
  const int32_t devices = NumDevices(problem);
  std::vector<double> best(static_cast<size_t>(devices), kInfinite);
  std::vector<DeviceIndex> device_of(problem.nodes.size());
  while (true) {
    if (FitsRooms(problem, device_of) && IsContiguous(problem, device_of)) {
      double& of_count = best[std::set<DeviceIndex>(device_of.begin(), device_of.end()).size() - 1];
      of_count = std::min(of_count, MaxLoad(problem, device_of));
    }
    size_t digit = 0;
    while (digit < device_of.size() && ++device_of[digit] == devices) device_of[digit++] = 0;
    if (digit == device_of.size()) return best;
  }
}

TEST(ContiguousSplits, AreTheBestOfAllContiguousDivisions) {
  uint64_t found = 0;
  for (uint64_t seed = 0; seed < Trials(400); ++seed) {
    Rng rng(seed);
    const SplitProblem problem = RandomProblem(rng, 6);
    const std::vector<double> expected = ByTrying(problem);
    const std::vector<GraphSplit> splits = ContiguousSplits(problem);
    ASSERT_EQ(splits.size(), expected.size());
    for (size_t k = 0; k < splits.size(); ++k) {
      EXPECT_EQ(splits[k].max_load_us, expected[k]) << "seed " << seed << ", " << k + 1 << " devices";
      EXPECT_EQ(splits[k].device_of.empty(), expected[k] == kInfinite);
      if (splits[k].device_of.empty()) continue;
      ++found;
      EXPECT_TRUE(IsContiguous(problem, splits[k].device_of)) << seed;
      EXPECT_TRUE(FitsRooms(problem, splits[k].device_of)) << seed;
      EXPECT_EQ(MaxLoad(problem, splits[k].device_of), expected[k]) << seed;
    }
  }
  EXPECT_GT(found, Trials(400) / 2);
}

TEST(ContiguousSplits, WithFewIdealsAreContiguousAndNoBetter) {
  int as_good = 0;
  int splits_found = 0;
  for (uint64_t seed = 0; seed < Trials(300); ++seed) {
    Rng rng(seed);
    SplitProblem problem = RandomProblem(rng, 6);
    const std::vector<double> best = ByTrying(problem);
    const SplitLimits limits = seed % 2 == 0 ? SplitLimits{.most_ideals = 2, .most_stretches = 4}
                                             : SplitLimits{.most_stretches = 4, .most_steps = 20};
    const std::vector<GraphSplit> splits = ContiguousSplits(problem, limits);
    ASSERT_EQ(splits.size(), best.size());
    for (size_t k = 0; k < splits.size(); ++k) {
      if (splits[k].device_of.empty()) continue;
      EXPECT_TRUE(IsContiguous(problem, splits[k].device_of)) << seed;
      EXPECT_TRUE(FitsRooms(problem, splits[k].device_of)) << seed;
      EXPECT_EQ(MaxLoad(problem, splits[k].device_of), splits[k].max_load_us) << seed;
      EXPECT_GE(splits[k].max_load_us, best[k]) << seed;
      as_good += static_cast<int>(splits[k].max_load_us == best[k]);
      ++splits_found;
    }
  }
  EXPECT_GT(as_good, splits_found / 2);
}

// A chain, and devices of which each is slower than the one before.
SplitProblem ChainOnUnlikeDevices(int32_t nodes, int32_t devices) {
  SplitProblem problem;
  problem.nodes.resize(static_cast<size_t>(nodes));
  for (DeviceIndex device = 0; device < devices; ++device) {
    problem.classes.push_back({.devices = {device}, .room_bytes = kInfinite});
    for (SplitProblem::Node& node : problem.nodes) node.cost_us.push_back(100 + device);
  }
  for (int32_t i = 1; i < nodes; ++i) problem.edges.emplace_back(i - 1, i);
  return problem;
}

TEST(ContiguousSplits, OfManyUnlikeDevicesTheSlowestAreLeftOut) {
  constexpr int32_t kDevices = 70;
  const SplitProblem problem = ChainOnUnlikeDevices(300, kDevices);
  const std::vector<GraphSplit> splits = ContiguousSplits(problem, {.most_stretches = 20, .most_steps = 1e6});
  ASSERT_EQ(splits.size(), kDevices);
  EXPECT_TRUE(splits.back().device_of.empty());
  EXPECT_EQ(std::set<DeviceIndex>(splits[0].device_of.begin(), splits[0].device_of.end()), std::set<DeviceIndex>{0});
  const std::vector<DeviceIndex>& on_four = splits[3].device_of;
  EXPECT_EQ(std::set<DeviceIndex>(on_four.begin(), on_four.end()), (std::set<DeviceIndex>{0, 1, 2, 3}));
  EXPECT_TRUE(std::none_of(on_four.begin(), on_four.end(), [](DeviceIndex device) { return device > 8; }));
}

TEST(ContiguousSplits, StretchesAreOfNodesThatADeviceMayRunTogether) {
  SplitProblem problem;
  problem.classes = {{.devices = {0}, .room_bytes = kInfinite}, {.devices = {1}, .room_bytes = kInfinite}};
  problem.nodes.assign(3000, {.cost_us = {kInfinite, 10}, .bytes = 1});
  problem.nodes[0].cost_us = {10, kInfinite};
  for (int32_t i = 1; i < 3000; ++i) problem.edges.emplace_back(i - 1, i);
  problem.tensors.push_back({.us = 7, .maker = 0, .readers = {1}});
  EXPECT_EQ(ContiguousSplits(problem)[1].max_load_us, 2999 * 10 + 7);
  // More borders between such nodes than stretches.
  for (size_t i = 0; i < 3000; i += 2) problem.nodes[i].cost_us = {10, kInfinite};
  EXPECT_EQ(ContiguousSplits(problem)[1].max_load_us, kInfinite);
}

TEST(ContiguousSplits, OfManyUnlikeDevicesThoseStayThatANodeNeeds) {
  constexpr int32_t kDevices = 70;
  SplitProblem problem = ChainOnUnlikeDevices(100, kDevices);
  std::fill_n(problem.nodes[0].cost_us.begin(), kDevices - 1, kInfinite);
  const std::vector<GraphSplit> splits = ContiguousSplits(problem, {.most_stretches = 20, .most_steps = 1e6});
  ASSERT_FALSE(splits[1].device_of.empty());
  EXPECT_EQ(splits[1].device_of.front(), kDevices - 1);
}

TEST(ContiguousSplits, AChainIsCutInEvenPartsHoweverLong) {
  // 20,000 nodes of 1 us, in stretches of 20.
  SplitProblem problem;
  problem.classes = {{.devices = {0, 1, 2, 3}, .room_bytes = kInfinite}};
  problem.nodes.assign(20'000, {.cost_us = {1}, .bytes = 1});
  for (int32_t i = 1; i < 20'000; ++i) {
    problem.edges.emplace_back(i - 1, i);
    problem.tensors.push_back({.us = 7, .maker = i - 1, .readers = {i}});
  }
  const std::vector<GraphSplit> splits = ContiguousSplits(problem);
  for (size_t k = 0; k < 4; ++k) {
    const double even = 20'000.0 / static_cast<double>(k + 1) + (k == 0 ? 0 : k == 1 ? 7 : 14);
    EXPECT_GE(splits[k].max_load_us, even - 14);
    EXPECT_LE(splits[k].max_load_us, even + 30);
  }
}

}  // namespace
}  // namespace emplace
