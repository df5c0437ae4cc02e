#include "policy/hierarchical/bins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "policy/hierarchical/hierarchical_kind.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

std::vector<uint8_t> RandomBins(const GroupGraph& groups, Rng& rng) {
  std::vector<uint8_t> bins(static_cast<size_t>(groups.num_groups));
  const int64_t most = rng.UniformInt(0, NumBins(groups.num_devices) - 1);
  for (uint8_t& bin : bins) bin = static_cast<uint8_t>(rng.UniformInt(0, most));
  return bins;
}

TEST(NumBins, IsTwentyADeviceAndAtMost256) {
  EXPECT_EQ(NumBins(1), 20);
  EXPECT_EQ(NumBins(12), 240);
  EXPECT_EQ(NumBins(13), 256);
  EXPECT_EQ(NumBins(255), 256);
}

TEST(UsedBins, HaveTheirGroupsAndGoWhereTheseMay) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.max_ops = 30, .max_groups = 15, .restricted = 0.3});
    const GroupGraph& groups = task.groups;
    const std::vector<uint8_t> bins = RandomBins(groups, rng);
    const UsedBins used(groups, bins);
    ASSERT_EQ(std::set<uint8_t>(used.bins.begin(), used.bins.end()), std::set<uint8_t>(bins.begin(), bins.end()));
    ASSERT_EQ(used.size(), std::set<uint8_t>(bins.begin(), bins.end()).size());
    // In the order of their first group.
    for (size_t item = 0; item + 1 < used.size(); ++item) {
      ASSERT_LT(std::ranges::find(bins, used.bins[item]), std::ranges::find(bins, used.bins[item + 1]));
    }
    std::vector<uint8_t> devices;
    std::map<uint8_t, uint8_t> device_of_bin;
    for (size_t item = 0; item < used.size(); ++item) {
      std::vector<uint8_t> may;
      for (size_t d = 0; d < used.num_devices; ++d) {
        bool any = false;
        for (size_t group = 0; group < bins.size(); ++group) {
          any = any || (bins[group] == used.bins[item] && groups.Allowed(group, d));
        }
        ASSERT_EQ(used.AllowedRow(item)[d], any ? 1 : 0);
        if (any) may.push_back(static_cast<uint8_t>(d));
      }
      devices.push_back(may[static_cast<size_t>(rng.UniformInt(0, std::ssize(may) - 1))]);
      device_of_bin[used.bins[item]] = devices.back();
    }
    std::vector<uint8_t> placed(bins.size());
    used.Place(groups, devices, placed);
    for (size_t group = 0; group < bins.size(); ++group) {
      const uint8_t wanted = device_of_bin[bins[group]];
      ASSERT_TRUE(groups.Allowed(group, placed[group]));
      if (groups.Allowed(group, wanted)) {
        ASSERT_EQ(placed[group], wanted);
      } else {
        for (size_t d = 0; d < placed[group]; ++d) ASSERT_FALSE(groups.Allowed(group, d));
      }
    }
  }
}

TEST(HierarchicalKind, ChecksDecisionsAndPlacesWhatIsSound) {
  Rng rng(3);
  PlacementTask task = RandomTask(rng, {.max_ops = 20, .max_groups = 6});
  while (task.groups.num_groups < 3 || task.groups.num_devices < 2) task = RandomTask(rng, {.max_groups = 6});
  std::ranges::fill(task.groups.allowed, 1);
  task.groups.allowed[0] = 0;  // Group 0 may not go to device 0.
  const auto n = static_cast<size_t>(task.groups.num_groups);
  Trajectory good;
  good.actions.assign(n, 7);  // Group 0 is alone in bin 3, all others are in bin 7.
  good.actions[0] = 3;
  good.actions.push_back(1);
  good.actions.push_back(0);
  ASSERT_EQ(HierarchicalKind().CheckDecisions(task, good), std::nullopt);
  std::vector<uint8_t> groups(n);
  HierarchicalKind().PlacementAt(task, good, 0, groups);
  std::vector<uint8_t> expected(n, 0);
  expected[0] = 1;
  EXPECT_EQ(groups, expected);

  const auto refusal = [&](auto damage) {
    Trajectory bad = good;
    damage(bad);
    return HierarchicalKind().CheckDecisions(task, bad).value_or("(accepted)");
  };
  EXPECT_THAT(refusal([](Trajectory& t) { t.actions.resize(2); }), HasSubstr("do not fit"));
  EXPECT_THAT(refusal([&](Trajectory& t) { t.start_placement.assign(n, 1); }), HasSubstr("do not fit"));
  EXPECT_THAT(refusal([](Trajectory& t) { t.actions.pop_back(); }), HasSubstr("devices for 1 bins, expected 2"));
  EXPECT_THAT(refusal([](Trajectory& t) { t.actions.push_back(0); }), HasSubstr("devices for 3 bins, expected 2"));
  EXPECT_THAT(refusal([](Trajectory& t) { t.actions[1] = 255; }), HasSubstr("group 1 is in bin 255, there are "));
  EXPECT_THAT(refusal([&](Trajectory& t) { t.actions[n] = 0; }), HasSubstr("bin 3 is on device 0"));
  EXPECT_THAT(refusal([&](Trajectory& t) { t.actions[n + 1] = 200; }), HasSubstr("bin 7 is on device 200"));
}

}  // namespace
}  // namespace emplace
