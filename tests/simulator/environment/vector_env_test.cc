#include "simulator/environment/vector_env.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "common/error.h"
#include "tests/support/random_task.h"

namespace emplace {
namespace {

constexpr size_t kCount = 3;

std::vector<int32_t> RandomDevices(const PlacementTask& task, Rng& rng) {
  std::vector<int32_t> devices(kCount);
  for (int32_t& device : devices) {
    device = static_cast<int32_t>(rng.UniformInt(0, task.groups.num_devices - 1));
  }
  return devices;
}

// For two episodes and a bit of each: those that have ended start anew, and a device that may not run a group leaves
// it.
TEST(VectorEnv, IsItsEpisodesSideBySide) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.restricted = 0.3});
    VectorEnv vector(task, EnvironmentConfig(), kCount);
    std::deque<PlacementEnv> singles;
    std::vector<Rng> starts;
    std::vector<double> rho;
    for (size_t i = 0; i < kCount; ++i) {
      vector.Seed(i, seed + i);
      vector.Reset(i);
      starts.emplace_back(seed + i);
      rho.push_back(singles.emplace_back(task, EnvironmentConfig()).Reset(starts[i]));
    }
    for (int32_t step = 0; step < 2 * task.groups.num_groups + 4; ++step) {
      const std::vector<int32_t> devices = RandomDevices(task, rng);
      const std::vector<double> rewards = vector.StepAll(devices);
      for (size_t i = 0; i < kCount; ++i) {
        PlacementEnv& single = singles[i];
        const double before = rho[i];
        if (single.done()) {
          rho[i] = single.Reset(starts[i]);
          ASSERT_EQ(rewards[i], 0);
        } else {
          const auto group = static_cast<size_t>(single.step());
          const bool allowed = task.groups.Allowed(group, static_cast<size_t>(devices[i]));
          rho[i] = single.Step(allowed ? devices[i] : single.placement()[group]);
          ASSERT_EQ(rewards[i], before - rho[i]) << "seed " << seed;
        }
        ASSERT_EQ(vector.env(i).makespan_us(), single.makespan_us()) << "seed " << seed;
      }
    }
  }
}

TEST(VectorEnv, ShowsTheCurrentGroupAndWhereItMayGo) {
  Rng rng(1);
  const PlacementTask task = RandomTask(rng, {.restricted = 0.3});
  VectorEnv vector(task, EnvironmentConfig(), 1);
  vector.Reset(0);
  const auto n = static_cast<size_t>(task.groups.num_groups);
  const auto devices = static_cast<size_t>(task.groups.num_devices);
  ASSERT_EQ(vector.features(), 4 + devices);
  std::vector<float> seen(n * vector.features());
  std::vector<int8_t> mask(devices);
  for (size_t step = 0; step < n; ++step) {
    vector.Observe(0, seen.data());
    vector.Mask(0, mask.data());
    for (size_t g = 0; g < n; ++g) {
      const std::span<const float> row = std::span(seen).subspan(g * vector.features(), vector.features());
      EXPECT_TRUE(row[0] >= 0 && row[0] <= 1 && row[1] >= 0 && row[1] <= 1);
      EXPECT_EQ(row[2], g < step ? 1 : 0);
      EXPECT_EQ(row[3], g == step ? 1 : 0);
      for (size_t d = 0; d < devices; ++d) EXPECT_EQ(row[4 + d], vector.env(0).placement()[g] == d ? 1 : 0);
    }
    for (size_t d = 0; d < devices; ++d) EXPECT_EQ(mask[d], task.groups.Allowed(step, d) ? 1 : 0);
    vector.Step(0, RandomAllowedDevice(task.groups, vector.env(0).step(), rng));
  }
}

TEST(VectorEnv, AWrongDeviceStepsNoEpisode) {
  Rng rng(2);
  const PlacementTask task = RandomTask(rng);
  VectorEnv vector(task, EnvironmentConfig(), 2);
  for (size_t i = 0; i < 2; ++i) vector.Reset(i);
  EXPECT_THROW(vector.StepAll(std::vector<int32_t>{0, task.groups.num_devices}), Error);
  EXPECT_THROW(vector.StepAll(std::vector<int32_t>{0, -1}), Error);
  EXPECT_EQ(vector.env(0).step(), 0);
  while (!vector.env(0).done()) vector.Step(0, 0);
  EXPECT_THROW(vector.Step(0, 0), Error);
}

}  // namespace
}  // namespace emplace
