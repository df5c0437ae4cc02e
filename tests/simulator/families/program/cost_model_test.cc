#include "simulator/families/program/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>

#include "common/error.h"
#include "common/files/file_io.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

// Products attain 1 TFLOP/s of 2 (4 of 8 in f16), half of it at 3 MFLOP; 100 GB/s of 200; 3 us to launch.
constexpr char kKind[] = R"(kind: toy
memory_bytes: 1.0e9
memory_gb_per_s: 200
launch_us: 3
peak_gflops: {f32: 2000, f16: 8000}
efficiency:
  matmul: {compute: 0.5, memory: 0.5, half_rate_mflop: 3}
  convolution: {compute: 0.5, memory: 0.5, half_rate_mflop: 0}
  depthwise: {compute: 0.05, memory: 0.5, half_rate_mflop: 0}
  elementwise: {compute: 0.5, memory: 0.5, half_rate_mflop: 0}
  reduction: {compute: 0.5, memory: 0.25, half_rate_mflop: 0}
  gather: {compute: 0.5, memory: 0.1, half_rate_mflop: 0}
)";

std::vector<DeviceKind> ParseAll(const std::string& text) {
  // One file a process: the cases run side by side.
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("emplace_kind_" + std::to_string(getpid()) + ".yaml");
  WriteFileAtomically(path, text);
  const std::shared_ptr<void> removed_at_the_end(nullptr, [&](void*) { std::filesystem::remove(path); });
  return LoadKindsOfFile(path);
}

DeviceKind Parse(const std::string& text) { return ParseAll(text).front(); }

// What is said of kKind with `from` replaced by `to`.
std::string ErrorWith(const std::string& from, const std::string& to) {
  std::string text = kKind;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  try {
    Parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CostModel, TakesTheLargerOfComputeAndMemoryAndAddsTheLaunch) {
  const DeviceKind toy = Parse(kKind);
  const auto cost = [&](double flops, int64_t bytes) {
    return CostUs(toy, {OpClass::kElementwise, ElementType::kFloat32, flops, bytes});
  };
  EXPECT_EQ(cost(2e6, 0), 5);       // 2e6 FLOP / 1e6 FLOP per us = 2, + 3
  EXPECT_EQ(cost(0, 400000), 7);    // 400,000 B / 100,000 B per us = 4, + 3
  EXPECT_EQ(cost(2e6, 400000), 7);  // The larger of the two, + 3
  EXPECT_EQ(cost(1, 1), 3);         // Rounded to a nanosecond.
}

TEST(CostModel, AddsWhatTheLongerOfTheTwoDoesNotHide) {
  std::string text = kKind;
  text.replace(text.find("elementwise: {"), 14, "elementwise: {exposed: 0.25, ");
  const DeviceKind toy = Parse(text);
  const auto cost = [&](OpClass op_class) {
    return std::pair(CostUs(toy, {op_class, ElementType::kFloat32, 2e6, 400000}),   // 2 us, 4 us
                     CostUs(toy, {op_class, ElementType::kFloat32, 4e6, 200000}));  // 4 us, 2 us
  };
  EXPECT_EQ(cost(OpClass::kElementwise), std::pair(7.5, 7.5));
  EXPECT_EQ(cost(OpClass::kConvolution), std::pair(7.0, 7.0));
  text.replace(text.find("0.25"), 4, "0");  // As if it were not given.
  EXPECT_EQ(CostUs(Parse(text), {OpClass::kElementwise, ElementType::kFloat32, 2e6, 400000}), 7);
}

TEST(CostModel, EfficiencyGoesByClassTypeAndSize) {
  const DeviceKind toy = Parse(kKind);
  const auto cost = [&](OpClass op_class, ElementType type, double flops, int64_t bytes) {
    return CostUs(toy, {op_class, type, flops, bytes});
  };
  // At the half-rate size 3 MFLOP run at 0.5e6 FLOP per us: 6, + 3. Ten times as large: 30 + 3 at the full rate, 33,
  // + 3.
  EXPECT_EQ(cost(OpClass::kMatmul, ElementType::kFloat32, 3e6, 0), 9);
  EXPECT_EQ(cost(OpClass::kMatmul, ElementType::kFloat32, 30e6, 0), 36);
  EXPECT_EQ(cost(OpClass::kMatmul, ElementType::kFloat16, 29e6, 0), 11);    // 32e6 / 4e6 = 8, + 3
  EXPECT_EQ(cost(OpClass::kDepthwise, ElementType::kFloat32, 1e6, 0), 13);  // A tenth of the rate of the others.
  EXPECT_EQ(cost(OpClass::kReduction, ElementType::kFloat32, 0, 100000), 5);
  EXPECT_EQ(cost(OpClass::kGather, ElementType::kFloat32, 0, 100000), 8);
  EXPECT_EQ(cost(OpClass::kResident, ElementType::kFloat32, 1e9, 1000000), 0);
}

TEST(CostModel, ErrorsNamePlaceAndValue) {
  EXPECT_EQ(ErrorWith("launch_us: 3", "launch_us: 3.0"), "");
  const std::pair<std::pair<const char*, const char*>, const char*> cases[] = {
      {{"f32: 2000", "f32: -1"}, ":5:20: f32 is -1, expected a finite number"},
      {{"launch_us", "launch_ms"}, ":4:1: unknown key 'launch_ms' in a device kind"},
      {{"launch_us: 3", "launch_us: soon"}, ":4:12: launch_us is 'soon', expected a number"},
      {{"launch_us: 3", "launch_us: 0"}, ":4:12: launch_us is 0, expected a number above 0"},
      {{"launch_us: 3", "[launch, us]: 3"}, ":4:1: unknown key '' in a device kind"},
      {{"launch_us: 3", "launch_us: 3\nlaunch_us: 4"},
       ":5:1: 'launch_us' in a device kind is given twice, expected once"},
      {{"kind: toy", "kind: [toy]"}, ":1:7: kind: expected a name"},
      {{"kind: toy\n", ""}, "'kind' is missing, expected a name"},
      {{"kind: toy", "kind: [toy"}, "not valid YAML"},
      {{"{f32: 2000, f16: 8000}", "2000"}, ":5:14: peak_gflops: expected a map"},
      {{"  depthwise: {compute: 0.05, memory: 0.5, half_rate_mflop: 0}\n", ""},
       "'depthwise' is missing, expected a map"},
      {{"  gather", "  scatter"}, ":12:3: unknown key 'scatter' in efficiency"},
      {{"compute: 0.05", "compute: 1.5"}, ":9:24: compute is 1.5, expected at most 1"},
      {{"compute: 0.05", "compute: 0"}, ":9:24: compute is 0, expected a number above 0"},
      {{"half_rate_mflop: 3", "half_rate_mflop: 3, exposed: 1.5"}, "exposed is 1.5, expected at most 1"},
      {{"half_rate_mflop: 3", "half_rate_mflop: -3"}, "half_rate_mflop is -3, expected a finite number of at least 0"},
  };
  for (const auto& [change, expected] : cases) {
    EXPECT_NE(ErrorWith(change.first, change.second).find(expected), std::string::npos)
        << expected << "\n"
        << ErrorWith(change.first, change.second);
  }
}

constexpr char kPair[] = R"(launch_us: 3
efficiency:
  matmul: {compute: 0.5, memory: 0.5, half_rate_mflop: 3}
  convolution: {compute: 0.5, memory: 0.5, half_rate_mflop: 0}
  depthwise: {compute: 0.05, memory: 0.5, half_rate_mflop: 0}
  elementwise: {compute: 0.5, memory: 0.5, half_rate_mflop: 0}
  reduction: {compute: 0.5, memory: 0.25, half_rate_mflop: 0}
  gather: {compute: 0.5, memory: 0.1, half_rate_mflop: 0}
kinds:
  - {kind: small, memory_bytes: 8.0e9, memory_gb_per_s: 100, f32: 1000, f16: 2000}
  - {kind: large, memory_bytes: 16.0e9, memory_gb_per_s: 200, f32: 2000, f16: 4000}
)";

TEST(CostModel, KindsOfOneFileShareTheirEfficiency) {
  const std::vector<DeviceKind> kinds = ParseAll(kPair);
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].name, "small");
  EXPECT_EQ(kinds[1].memory_bytes, 16e9);
  // A transfer of 100 MB within the memory takes half as long on the one that is twice as fast, but for the launch.
  const OpWork streams = {.op_class = OpClass::kElementwise, .bytes = 100'000'000};
  EXPECT_DOUBLE_EQ(CostUs(kinds[0], streams), 2003);
  EXPECT_DOUBLE_EQ(CostUs(kinds[1], streams), 1003);
}

TEST(CostModel, ErrorsInAListOfKindsNameThePlace) {
  const auto error = [](const std::string& from, const std::string& to) {
    std::string text = kPair;
    text.replace(text.find(from), from.size(), to);
    return BadInputOf([&] { ParseAll(text); });
  };
  EXPECT_THAT(error("f32: 1000, ", ""), testing::HasSubstr(":10:5: 'f32' is missing, expected a number"));
  EXPECT_THAT(error("f32: 2000", "f32: -1"), testing::HasSubstr(":11:"));
  EXPECT_THAT(error("launch_us: 3", "launch: 3"), testing::HasSubstr("launch"));
}

TEST(CostModel, TheShippedKindsLoad) {
  std::vector<std::string> names;
  for (const DeviceKind& kind : LoadDeviceKinds(DefaultKindsFolder())) names.push_back(kind.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a100", "cpu", "h100", "k80", "p100", "v100"}));
  std::set<std::string> all(names.begin(), names.end());
  for (const DeviceKind& kind : LoadDeviceKinds(DefaultKindsFolder() / "consumer")) {
    EXPECT_TRUE(all.insert(kind.name).second) << kind.name << " is a kind of the workloads too";
  }
  EXPECT_GT(all.size(), 100u);
}

}  // namespace
}  // namespace emplace
