#include "simulator/families/cost_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "common/error.h"
#include "common/file_io.h"

namespace emplace {
namespace {

// 1 TFLOP/s attainable of 2, 100 GB/s attainable of 200, 3 us to launch.
constexpr char kKind[] =
    "kind: toy\npeak_gflops: 2000\ncompute_efficiency: 0.5\nmemory_gb_per_s: 200\nmemory_efficiency: 0.5\nlaunch_us: "
    "3\n";

DeviceKind Parse(const std::string& text) {
  // One file a process: the cases run side by side.
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("emplace_kind_" + std::to_string(getpid()) + ".yaml");
  WriteFileAtomically(path, text);
  const std::shared_ptr<void> removed_at_the_end(nullptr, [&](void*) { std::filesystem::remove(path); });
  return LoadDeviceKind(path);
}

std::string ErrorOf(const std::string& text) {
  try {
    Parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CostModel, TakesTheLargerOfComputeAndMemoryAndAddsTheLaunch) {
  const DeviceKind toy = Parse(kKind);
  EXPECT_EQ(CostUs(toy, 2e6, 0), 5);       // 2e6 FLOP / 1e6 FLOP per us = 2, + 3
  EXPECT_EQ(CostUs(toy, 0, 400000), 7);    // 400,000 B / 100,000 B per us = 4, + 3
  EXPECT_EQ(CostUs(toy, 2e6, 400000), 7);  // The larger of the two, + 3
  EXPECT_EQ(CostUs(toy, 1, 1), 3);         // Rounded to a nanosecond.
}

TEST(CostModel, ErrorsNamePlaceAndValue) {
  EXPECT_NE(ErrorOf("kind: toy\npeak_gflops: -1\n").find(":2:14: peak_gflops is -1"), std::string::npos);
  EXPECT_NE(ErrorOf("kind: toy\npeak_gflop: 1\n").find(":2:1: unknown key 'peak_gflop'"), std::string::npos);
  EXPECT_NE(ErrorOf("kind: toy\npeak_gflops: many\n").find("peak_gflops is not a number"), std::string::npos);
  EXPECT_NE(ErrorOf("kind: toy\n[peak, gflops]: 1\n").find(":2:1: unknown key ''"), std::string::npos);
  EXPECT_NE(ErrorOf("kind: [toy]\n").find("'kind' is missing"), std::string::npos);
  EXPECT_NE(ErrorOf("just words\n").find("expected a map"), std::string::npos);
  EXPECT_NE(ErrorOf("kind: [toy\n").find("not valid YAML"), std::string::npos);
  EXPECT_NE(ErrorOf("kind: toy\npeak_gflops: 1\n").find("'compute_efficiency' is missing"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string(kKind) + "memory_efficiency: 2\n").find("memory_efficiency is 2"), std::string::npos);
}

TEST(CostModel, TheShippedKindsLoad) {
  const std::vector<DeviceKind> kinds = LoadDeviceKinds(DefaultKindsFolder());
  ASSERT_GE(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].name, "cpu");
  EXPECT_EQ(kinds[1].name, "k80");
}

}  // namespace
}  // namespace emplace
