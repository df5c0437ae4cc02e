#include "simulator/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/random_graph.h"

namespace emplace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string ErrorOf(const std::string& yaml) {
  try {
    ParseCluster(yaml, "d.yaml");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_THAT(error.what(), AllOf(StartsWith("d.yaml:"), Not(HasSubstr("\n"))));
    return error.what();
  }
  return "no error";
}

constexpr char kDevice[] = "devices: [{name: a, kind: x, memory_bytes: 1}]\n";
constexpr char kRest[] = "op_overhead_us: 1\ntransfer: {bandwidth_bytes_per_us: 1, overhead_us: 0}\n";

TEST(Cluster, ReadsTheFormat) {
  const Cluster cluster = ParseCluster(R"(
devices:
  - {name: "gpu:0", kind: k80, memory_bytes: 11.0e9}
  - {name: "gpu:1", kind: k80, memory_bytes: 11000000000}
op_overhead_us: 5.7          # busy this long
transfer: {bandwidth_bytes_per_us: 7600, overhead_us: 25}
)", "d.yaml");
  ASSERT_EQ(cluster.num_devices(), 2);
  EXPECT_EQ(cluster.devices[0].name, "gpu:0");
  EXPECT_EQ(cluster.devices[0].kind, "k80");
  EXPECT_EQ(cluster.devices[0].memory_bytes, 11000000000);
  EXPECT_EQ(cluster.devices[1].memory_bytes, 11000000000);
  EXPECT_EQ(cluster.op_overhead_us, 5.7);
  EXPECT_EQ(cluster.bandwidth_bytes_per_us, 7600);
  EXPECT_EQ(cluster.transfer_overhead_us, 25);
}

TEST(Cluster, WhatIsWrittenReadsBackTheSame) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const Cluster cluster = RandomCluster(rng);
    const std::string yaml = ClusterToYaml(cluster);
    const Cluster again = ParseCluster(yaml, "d.yaml");
    ASSERT_EQ(ClusterToYaml(again), yaml);
    ASSERT_EQ(again.op_overhead_us, cluster.op_overhead_us);
    ASSERT_EQ(again.bandwidth_bytes_per_us, cluster.bandwidth_bytes_per_us);
    ASSERT_EQ(again.transfer_overhead_us, cluster.transfer_overhead_us);
    ASSERT_EQ(again.num_devices(), cluster.num_devices());
  }
}

TEST(Cluster, RefusesWithLineAndColumn) {
  const std::string device = kDevice;
  const std::string rest = kRest;
  EXPECT_THAT(ErrorOf(""), StartsWith("d.yaml:1:1: "));
  EXPECT_THAT(ErrorOf("- 1"), HasSubstr("expected a map"));
  EXPECT_THAT(ErrorOf("devices: ["), HasSubstr("not valid YAML"));
  EXPECT_THAT(ErrorOf(rest), HasSubstr("'devices' is missing"));
  EXPECT_THAT(ErrorOf("devices: []\n" + rest), StartsWith("d.yaml:1:10: devices: expected a list of at least one device"));
  EXPECT_THAT(ErrorOf(device + "op_overhead_us: 1\n"), HasSubstr("'transfer' is missing"));
  EXPECT_THAT(ErrorOf(device + rest + "op_overhaed_us: 1\n"), StartsWith("d.yaml:4:1: unknown key 'op_overhaed_us'"));
  EXPECT_THAT(ErrorOf("devices: [{name: a, kind: x, memory_bytes: 1}, {name: a, kind: x, memory_bytes: 1}]\n" + rest),
              StartsWith("d.yaml:1:48: device name 'a' is used twice"));
  EXPECT_THAT(ErrorOf("devices: [{name: a, kind: x, memory: 1}]\n" + rest), HasSubstr("unknown key 'memory'"));
  EXPECT_THAT(ErrorOf("devices: [{name: a, kind: x, memory_bytes: -1}]\n" + rest), HasSubstr("memory_bytes is -1"));
  EXPECT_THAT(ErrorOf("devices: [{name: a, kind: x, memory_bytes: 1e30}]\n" + rest), HasSubstr("less than 2^62"));
  EXPECT_THAT(ErrorOf("devices: [{name: a, kind: x, memory_bytes: much}]\n" + rest), HasSubstr("is not a number"));
  EXPECT_THAT(ErrorOf(device + "op_overhead_us: .inf\ntransfer: {bandwidth_bytes_per_us: 1, overhead_us: 0}\n"),
              StartsWith("d.yaml:2:17: op_overhead_us is inf"));
  EXPECT_THAT(ErrorOf(device + "op_overhead_us: 1\ntransfer: {bandwidth_bytes_per_us: 0, overhead_us: 0}\n"),
              StartsWith("d.yaml:3:36: bandwidth_bytes_per_us is 0"));
  EXPECT_THAT(ErrorOf(device + "op_overhead_us: 1\ntransfer: 5\n"), HasSubstr("transfer: expected a map"));
}

TEST(Cluster, RefusesMoreDevicesThanAPlacementCanName) {
  std::string yaml = "devices:\n";
  for (int d = 0; d < 256; ++d) yaml += "  - {name: d" + std::to_string(d) + ", kind: x, memory_bytes: 1}\n";
  EXPECT_THAT(ErrorOf(yaml + kRest), HasSubstr("has 256 entries, expected at most 255"));
}

TEST(Cluster, DamagedFilesAreReadOrRefused) {
  Rng rng(3);
  for (int round = 0; round < 20; ++round) {
    const std::string yaml = ClusterToYaml(RandomCluster(rng));
    for (int i = 0; i < 200; ++i) {
      std::string damaged = yaml;
      damaged[static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(yaml.size()) - 1))] =
          static_cast<char>(rng.UniformInt(0, 255));
      ErrorOf(damaged);
    }
  }
}

}  // namespace
}  // namespace emplace
