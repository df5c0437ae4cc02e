#include "simulator/methods/groups/spread_by_bytes.h"

#include <gtest/gtest.h>

namespace emplace {
namespace {

TEST(SpreadByBytes, GivesTheLargestFirstToTheDeviceWithFewest) {
  const std::vector<int64_t> bytes = {10, 30, 20, 20, 99};
  const auto any_of_two = [](int32_t) { return std::vector<DeviceIndex>{0, 1}; };
  // 30 to the first, 20 and 20 to the second, then 10 to the first; item 4 is not asked for.
  EXPECT_EQ(SpreadByBytes({0, 1, 2, 3}, bytes, 2, any_of_two), (std::vector<DeviceIndex>{0, 0, 1, 1, -1}));
}

TEST(SpreadByBytes, KeepsToTheCandidates) {
  const std::vector<int64_t> bytes = {10, 10, 10};
  const auto candidates = [](int32_t item) {
    return item == 0 ? std::vector<DeviceIndex>{2} : item == 1 ? std::vector<DeviceIndex>{} : std::vector{2, 1};
  };
  EXPECT_EQ(SpreadByBytes({0, 1, 2}, bytes, 3, candidates), (std::vector<DeviceIndex>{2, -1, 1}));
}

}  // namespace
}  // namespace emplace
