#include "actor/hardware/devices/local_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/bad_input.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

Cluster Machine(const std::vector<Device>& devices) { return {.devices = devices}; }

LocalGpus NoGpus() { return {}; }

std::string DevicesError(const std::vector<Device>& devices, const LocalGpus& gpus = {}) {
  return BadInputOf([&] { FindLocalDevices(Machine(devices), {0, 1, 2}, [&gpus] { return gpus; }); }, "device '");
}

TEST(LocalDevices, AreFoundByName) {
  const std::vector<LocalDevice> found =
      FindLocalDevices(Machine({{"cpu:1", "cpu", 1, {2}}, {"cpu:0", "cpu", 1, {0}}}), {0, 2}, NoGpus);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].cores, std::vector<int32_t>{2});
  EXPECT_EQ(found[1].cores, std::vector<int32_t>{0});
  EXPECT_FALSE(found[0].is_gpu());
}

TEST(LocalDevices, MixGpusAndCores) {
  int looked = 0;
  const auto two_gpus = [&looked] {
    ++looked;
    return LocalGpus{.count = 2};
  };
  // A thread that has a GPU run ops may have cores, and another number of them than a device of the CPU.
  const Cluster machine = Machine({{"cuda:1", "h200", 1, {1}}, {"cpu:0", "cpu", 1, {0, 2}}, {"cuda:0", "h200", 1, {}}});
  const std::vector<LocalDevice> found = FindLocalDevices(machine, {0, 1, 2}, two_gpus);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].gpu, 1);
  EXPECT_EQ(found[0].cores, std::vector<int32_t>{1});
  EXPECT_FALSE(found[1].is_gpu());
  EXPECT_EQ(found[2].gpu, 0);
  EXPECT_EQ(looked, 1);
  FindLocalDevices(Machine({{"cpu:0", "cpu", 1, {}}}), {0}, two_gpus);
  EXPECT_EQ(looked, 1);  // Only where a device is one.
}

TEST(LocalDevices, RefusesWhatIsNotHere) {
  EXPECT_THAT(DevicesError({{"gpu:0", "k80", 1, {}}}), HasSubstr("'gpu:0': no device of this computer, expected"));
  EXPECT_THAT(DevicesError({{"cpu:", "cpu", 1, {}}}), HasSubstr("no device of this computer"));
  EXPECT_THAT(DevicesError({{"cpu:-1", "cpu", 1, {}}}), HasSubstr("no device of this computer"));
  EXPECT_THAT(DevicesError({{"cpu:0x", "cpu", 1, {}}}), HasSubstr("no device of this computer"));
  EXPECT_THAT(DevicesError({{"cuda:x", "h200", 1, {}}}), HasSubstr("no device of this computer"));
  EXPECT_THAT(DevicesError({{"cuda:0", "h200", 1, {}}}),
              HasSubstr("'cuda:0': this computer has 0 GPUs, expected a name such as cpu:0"));
  EXPECT_THAT(DevicesError({{"cuda:2", "h200", 1, {}}}, {.count = 2}),
              HasSubstr("'cuda:2': this computer has 2 GPUs, expected cuda:i with i below 2"));
  EXPECT_THAT(DevicesError({{"cuda:0", "h200", 1, {}}}, {.count = 0, .why_none = "no library"}),
              HasSubstr("'cuda:0': GPUs cannot be run here: no library"));
  EXPECT_THAT(DevicesError({{"cuda:0", "h200", 1, {}}, {"cuda:00", "h200", 1, {}}}, {.count = 2}),
              HasSubstr("'cuda:00': is the GPU of 'cuda:0', expected one of its own"));
  EXPECT_THAT(DevicesError({{"cpu:0", "cpu", 1, {0}}, {"cuda:0", "h200", 1, {0}}}, {.count = 1}),
              HasSubstr("'cuda:0': core 0 is also one of 'cpu:0'"));
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
