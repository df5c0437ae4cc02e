#include "actor/hardware/local_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/bad_input.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

Cluster Machine(const std::vector<Device>& devices) { return {.devices = devices}; }

std::string DevicesError(const std::vector<Device>& devices) {
  return BadInputOf([&] { FindLocalDevices(Machine(devices), {0, 1, 2}); }, "device '");
}

TEST(LocalDevices, AreFoundByName) {
  const std::vector<LocalDevice> found =
      FindLocalDevices(Machine({{"cpu:1", "cpu", 1, {2}}, {"cpu:0", "cpu", 1, {0}}}), {0, 2});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].cores, std::vector<int32_t>{2});
  EXPECT_EQ(found[1].cores, std::vector<int32_t>{0});
}

TEST(LocalDevices, RefusesWhatIsNotHere) {
  EXPECT_THAT(DevicesError({{"gpu:0", "k80", 1, {}}}), HasSubstr("'gpu:0': no device of this computer, expected"));
  EXPECT_THAT(DevicesError({{"cpu:", "cpu", 1, {}}}), HasSubstr("no device of this computer"));
  EXPECT_THAT(DevicesError({{"cpu:-1", "cpu", 1, {}}}), HasSubstr("no device of this computer"));
  EXPECT_THAT(DevicesError({{"cpu:0x", "cpu", 1, {}}}), HasSubstr("no device of this computer"));
  EXPECT_THAT(DevicesError({{"cuda:1", "h200", 1, {}}}),
              HasSubstr("'cuda:1': GPUs cannot be run yet, expected a name such as cpu:0"));
  EXPECT_THAT(DevicesError({{"cpu:0", "cpu", 1, {3}}}), HasSubstr("core 3 is not there, expected some of 0, 1, 2"));
  EXPECT_THAT(DevicesError({{"cpu:0", "cpu", 1, {0, 1}}, {"cpu:1", "cpu", 1, {1, 2}}}),
              HasSubstr("'cpu:1': core 1 is also one of 'cpu:0'"));
  EXPECT_THAT(DevicesError({{"cpu:0", "cpu", 1, {0, 1}}, {"cpu:1", "cpu", 1, {2}}}),
              HasSubstr("has 1 cores and 'cpu:0' has 2, expected equal numbers"));
}

TEST(LocalDevices, AThreadIsBoundToItsCores) {
  const std::vector<int32_t> before = AvailableCores();
  ASSERT_FALSE(before.empty());
  BindThreadToCores({before.back()});
  EXPECT_EQ(AvailableCores(), std::vector<int32_t>{before.back()});
  BindThreadToCores(before);
  EXPECT_EQ(AvailableCores(), before);
}

}  // namespace
}  // namespace emplace
