#include "simulator/machine/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/error.h"
#include "common/files/file_io.h"
#include "tests/support/bad_input.h"
#include "tests/support/link_rules.h"
#include "tests/support/random_graph.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ClusterError(const std::string& yaml) {
  return BadInputOf([&] { ParseCluster(yaml, "d.yaml"); }, "d.yaml:");
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
)",
                                       "d.yaml");
  ASSERT_EQ(cluster.num_devices(), 2);
  EXPECT_EQ(cluster.devices[0].name, "gpu:0");
  EXPECT_EQ(cluster.devices[0].kind, "k80");
  EXPECT_EQ(cluster.devices[0].memory_bytes, 11000000000);
  EXPECT_EQ(cluster.devices[1].memory_bytes, 11000000000);
  EXPECT_EQ(cluster.op_overhead_us, 5.7);
  EXPECT_EQ(cluster.bandwidth_bytes_per_us, 7600);
  EXPECT_EQ(cluster.transfer_overhead_us, 25);
  EXPECT_EQ(cluster.link_model, LinkModel::kShared);
}

TEST(Cluster, ReadsLatencyAndMemoryRule) {
  const auto read = [](const std::string& latency, const std::string& rule) {
    const std::string transfer = "transfer: {bandwidth_bytes_per_us: 1, " + latency + "overhead_us: 3}\n";
    return ParseCluster(kDevice + ("op_overhead_us: 1\n" + rule + transfer), "d.yaml");
  };
  EXPECT_EQ(read("", "").transfer_latency_us, 0);
  EXPECT_EQ(read("latency_us: 12.5, ", "").transfer_latency_us, 12.5);
  EXPECT_EQ(read("latency_us: 12.5, ", "").transfer_overhead_us, 3);
  EXPECT_EQ(read("", "").memory_rule, MemoryRule::kExecutor);
  EXPECT_EQ(read("", "memory_rule: executor\n").memory_rule, MemoryRule::kExecutor);
  EXPECT_EQ(read("", "memory_rule: placeto\n").memory_rule, MemoryRule::kPlaceto);
}

TEST(Cluster, ReadsTheModelOfTheSendingLinks) {
  const auto model = [](const std::string& name) {
    const std::string transfer = "transfer: {bandwidth_bytes_per_us: 1, overhead_us: 0, model: " + name + "}\n";
    return ParseCluster(kDevice + ("op_overhead_us: 1\n" + transfer), "d.yaml").link_model;
  };
  EXPECT_EQ(model("shared"), LinkModel::kShared);
  EXPECT_EQ(model("per_destination"), LinkModel::kPerDestination);
}

TEST(Cluster, ReadsWhetherTransfersBlockDevices) {
  const auto read = [](const std::string& more) {
    return ParseCluster(
        kDevice + ("op_overhead_us: 1\ntransfer: {bandwidth_bytes_per_us: 1, overhead_us: 0" + more + "}\n"), "d.yaml");
  };
  EXPECT_EQ(read("").blocking, 0);
  EXPECT_EQ(read(", blocking: 0.25").blocking, 0.25);
  EXPECT_EQ(read(", blocking: 0, model: shared").link_model, LinkModel::kShared);
  EXPECT_EQ(read(", blocking: 1").link_model, LinkModel::kPerDestination);  // For each receiver that it blocks, one.
  const std::string topology = "topology: {overhead_us: 0, blocking: 0.5, links: []}\n";
  EXPECT_EQ(ParseCluster(kDevice + ("op_overhead_us: 1\n" + topology), "d.yaml").blocking, 0.5);
  const std::string before = std::string(kDevice) + "op_overhead_us: 1\ntransfer: {bandwidth_bytes_per_us: 1, ";
  EXPECT_THAT(ClusterError(before + "overhead_us: 0, blocking: 2}\n"), HasSubstr("blocking is 2, expected at most 1"));
  EXPECT_THAT(ClusterError(before + "overhead_us: 0, blocking: 1, model: shared}\n"),
              HasSubstr("expected per_destination beside 'blocking'"));
}

TEST(Cluster, ReadsAndWritesTheCoresOfADevice) {
  const auto device = [](const std::string& cores) {
    return "devices: [{name: \"cpu:0\", kind: cpu, memory_bytes: 1, cores: " + cores + "}]\n" + kRest;
  };
  const Cluster cluster = ParseCluster(device("[3, 0]"), "d.yaml");
  EXPECT_EQ(cluster.devices[0].cores, (std::vector<int32_t>{0, 3}));
  EXPECT_EQ(ParseCluster(ClusterToYaml(cluster), "d.yaml").devices[0].cores, cluster.devices[0].cores);
  for (const char* wrong : {"[]", "1", "[a]", "[-1]", "[0.5]", "[1, 1]", "[[1]]", "[1e9]"}) {
    EXPECT_THAT(ClusterError(device(wrong)), HasSubstr("expected a list of different core numbers")) << wrong;
  }
}

TEST(Cluster, ReadsATopology) {
  const Cluster cluster = ParseCluster(R"(
devices:
  - {name: "gpu:0", kind: k80, memory_bytes: 1}
  - {name: "gpu:1", kind: k80, memory_bytes: 1}
op_overhead_us: 1
topology:
  overhead_us: 5
  nodes: [host:0]
  links:
    - {name: nvlink0, between: [gpu:0, gpu:1], bandwidth_bytes_per_us: 25000, latency_us: 2}
    - {name: pcie1, between: [gpu:1, host:0], bandwidth_bytes_per_us: 12000, latency_us: 0}
)",
                                       "d.yaml");
  EXPECT_EQ(cluster.link_model, LinkModel::kTopology);
  EXPECT_EQ(cluster.transfer_overhead_us, 5);
  EXPECT_EQ(cluster.topology.nodes, (std::vector<std::string>{"gpu:0", "gpu:1", "host:0"}));
  ASSERT_EQ(cluster.topology.links.size(), 2u);
  EXPECT_EQ(cluster.topology.links[0].name, "nvlink0");
  EXPECT_EQ(cluster.topology.links[0].bandwidth_bytes_per_us, 25000);
  EXPECT_EQ(cluster.topology.links[0].latency_us, 2);
  EXPECT_EQ(cluster.topology.links[1].a, 1);
  EXPECT_EQ(cluster.topology.links[1].b, 2);
  EXPECT_EQ(ChannelName(cluster.topology, 2), "pcie1, gpu:1 to host:0");
  EXPECT_EQ(ChannelName(cluster.topology, 3), "pcie1, host:0 to gpu:1");
}

TEST(Cluster, ATopologyFileStartsAtTheFolderOfTheDevicesFile) {
  std::string pattern = (std::filesystem::temp_directory_path() / "emplace_cluster_XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const std::filesystem::path folder = pattern;
  const std::string devices = "devices: [{name: a, kind: x, memory_bytes: 1}, {name: b, kind: x, memory_bytes: 1}]\n";
  WriteFileAtomically(folder / "d.yaml", devices + "op_overhead_us: 1\ntopology: t.yaml\n");
  const std::string link = "links: [{name: l, between: [a, b], bandwidth_bytes_per_us: 10, latency_us: 1}]\n";
  WriteFileAtomically(folder / "t.yaml", "overhead_us: 3\n" + link);
  EXPECT_EQ(LoadCluster(folder / "d.yaml").transfer_overhead_us, 3);
  // What is wrong with it is said of the topology file.
  WriteFileAtomically(folder / "t.yaml", "overhead_us: -3\n" + link);
  try {
    LoadCluster(folder / "d.yaml");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StartsWith((folder / "t.yaml").string() + ":1:14: overhead_us is -3"));
  }
  std::filesystem::remove_all(folder);
}

TEST(Cluster, EveryMachineOfConfigsLoads) {
  int machines = 0;
  for (const auto& entry : std::filesystem::directory_iterator(EMPLACE_CONFIGS "/clusters")) {
    EXPECT_GE(LoadCluster(entry.path()).num_devices(), 2) << entry.path();
    ++machines;
  }
  EXPECT_GE(machines, 5);
}

TEST(Cluster, WhatIsWrittenReadsBackTheSame) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const LinkRules& links = kEveryLinkRules[seed % kEveryLinkRules.size()];
    const Cluster cluster = RandomCluster(rng, {.link_model = links.model, .blocking = links.blocking});
    const std::string yaml = ClusterToYaml(cluster);
    const Cluster again = ParseCluster(yaml, "d.yaml");
    ASSERT_EQ(ClusterToYaml(again), yaml);
    ASSERT_EQ(again.op_overhead_us, cluster.op_overhead_us);
    ASSERT_EQ(again.link_model, cluster.link_model);
    if (cluster.link_model == LinkModel::kTopology) {
      ASSERT_EQ(FindRoutes(again.topology, again.num_devices()), FindRoutes(cluster.topology, cluster.num_devices()));
    } else {
      ASSERT_EQ(again.bandwidth_bytes_per_us, cluster.bandwidth_bytes_per_us);
    }
    ASSERT_EQ(again.transfer_latency_us, cluster.transfer_latency_us);
    ASSERT_EQ(again.transfer_overhead_us, cluster.transfer_overhead_us);
    ASSERT_EQ(again.blocking, cluster.blocking);
    ASSERT_EQ(again.memory_rule, cluster.memory_rule);
    ASSERT_EQ(again.num_devices(), cluster.num_devices());
  }
}

TEST(Cluster, RefusesWithLineAndColumn) {
  const std::string device = kDevice;
  const std::string rest = kRest;
  EXPECT_THAT(ClusterError(""), StartsWith("d.yaml:1:1: "));
  EXPECT_THAT(ClusterError("- 1"), HasSubstr("expected a map"));
  EXPECT_THAT(ClusterError("devices: ["), HasSubstr("not valid YAML"));
  EXPECT_THAT(ClusterError(rest), HasSubstr("'devices' is missing, expected a list"));
  EXPECT_THAT(ClusterError("devices: []\n" + rest),
              StartsWith("d.yaml:1:10: devices: expected a list of at least one device"));
  EXPECT_THAT(ClusterError(device + "op_overhead_us: 1\n"), HasSubstr("'transfer' is missing"));
  EXPECT_THAT(ClusterError(device + rest + "op_overhaed_us: 1\n"),
              StartsWith("d.yaml:4:1: unknown key 'op_overhaed_us'"));
  EXPECT_THAT(
      ClusterError("devices: [{name: a, kind: x, memory_bytes: 1}, {name: a, kind: x, memory_bytes: 1}]\n" + rest),
      StartsWith("d.yaml:1:48: device name 'a' is used twice"));
  EXPECT_THAT(ClusterError("devices: [{name: a, kind: x, memory: 1}]\n" + rest), HasSubstr("unknown key 'memory'"));
  EXPECT_THAT(ClusterError("devices: [{name: a, kind: x, memory_bytes: -1}]\n" + rest),
              HasSubstr("memory_bytes is -1"));
  EXPECT_THAT(ClusterError("devices: [{name: a, kind: x, memory_bytes: 1e30}]\n" + rest), HasSubstr("less than 2^62"));
  EXPECT_THAT(ClusterError("devices: [{name: a, kind: x, memory_bytes: much}]\n" + rest),
              HasSubstr("memory_bytes is 'much', expected a number of at least 0"));
  EXPECT_THAT(ClusterError("devices: [{name: \xE9, kind: x, memory_bytes: 1}]\n" + rest),
              HasSubstr("expected text in UTF-8"));
  EXPECT_THAT(ClusterError(device + "op_overhead_us: .inf\ntransfer: {bandwidth_bytes_per_us: 1, overhead_us: 0}\n"),
              StartsWith("d.yaml:2:17: op_overhead_us is inf"));
  EXPECT_THAT(ClusterError(device + "op_overhead_us: 1\ntransfer: {bandwidth_bytes_per_us: 0, overhead_us: 0}\n"),
              StartsWith("d.yaml:3:36: bandwidth_bytes_per_us is 0"));
  EXPECT_THAT(ClusterError(device + "op_overhead_us: 1\ntransfer: 5\n"), HasSubstr("transfer: expected a map"));
  EXPECT_THAT(ClusterError(device + "op_overhead_us: 1\n"
                                    "transfer: {bandwidth_bytes_per_us: 1, latency_us: -2, overhead_us: 0}\n"),
              StartsWith("d.yaml:3:51: latency_us is -2, expected a finite number of at least 0"));
  EXPECT_THAT(ClusterError(device + "memory_rule: real\n" + rest),
              StartsWith("d.yaml:2:14: memory_rule is 'real', expected executor or placeto"));
}

TEST(Cluster, RefusesATopologyWithLineAndColumn) {
  // Two devices a and b; the text is line 3.
  const auto error_of = [](const std::string& topology) {
    return ClusterError(
        "devices: [{name: a, kind: x, memory_bytes: 1}, {name: b, kind: x, memory_bytes: 1}]\nop_overhead_us: 1\n" +
        topology + "\n");
  };
  const auto error_of_links = [&](const std::string& links) {
    return error_of("topology: {overhead_us: 0, nodes: [s], links: [" + links + "]}");
  };
  const std::string rest = ", bandwidth_bytes_per_us: 1, latency_us: 0}";
  EXPECT_EQ(error_of_links("{name: l, between: [a, b]" + rest), "");
  EXPECT_THAT(error_of_links("{name: l, between: [a, c]" + rest),
              StartsWith("d.yaml:3:71: link 'l': no device or node has the name 'c'"));
  EXPECT_THAT(error_of_links("{name: l, between: [a]" + rest), StartsWith("d.yaml:3:67: between: expected two nodes"));
  EXPECT_THAT(error_of_links("{name: l, between: [a, a]" + rest), HasSubstr("link 'l' leads from a node to itself"));
  EXPECT_THAT(error_of_links("{name: l, between: [a, b]" + rest + ", {name: l, between: [a, s]" + rest),
              StartsWith("d.yaml:3:118: link name 'l' is used twice"));
  EXPECT_THAT(error_of_links("{name: l, between: [a, s]" + rest),
              StartsWith("d.yaml:3:47: no route leads from 'a' to 'b' (devices do not forward)"));
  EXPECT_THAT(error_of_links("{name: l, between: [a, b], bandwidth_bytes_per_us: 0, latency_us: 0}"),
              StartsWith("d.yaml:3:99: bandwidth_bytes_per_us is 0"));
  EXPECT_THAT(error_of_links("{name: l, between: [a, b], bandwidth_bytes_per_us: -1, latency_us: 0}"),
              HasSubstr("bandwidth_bytes_per_us is -1"));
  EXPECT_THAT(error_of_links("{name: l, between: [a, b], bandwidth_bytes_per_us: 1, latency_us: -2}"),
              HasSubstr("latency_us is -2"));
  EXPECT_THAT(error_of_links("{name: l, between: [a, b], bandwidth: 1, latency_us: 0}"),
              HasSubstr("unknown key 'bandwidth'"));
  EXPECT_THAT(error_of("topology: {overhead_us: 0, nodes: [s, s], links: []}"),
              StartsWith("d.yaml:3:39: node name 's' is used twice"));
  EXPECT_THAT(error_of("topology: {overhead_us: 0, nodes: [a], links: []}"), HasSubstr("node name 'a' is used twice"));
  EXPECT_THAT(error_of("topology: {overhead_us: 0}"), HasSubstr("'links' is missing, expected a list"));
  EXPECT_THAT(error_of("topology: {overhead_us: -1, links: []}"), HasSubstr("overhead_us is -1"));
  EXPECT_THAT(error_of("topology: [1]"), HasSubstr("topology: expected a map"));
  EXPECT_THAT(error_of("topology: missing.yaml"), StartsWith("d.yaml:3:11: topology: there is no file missing.yaml"));
  EXPECT_THAT(error_of("topology: " + std::string(5000, 'x')),
              StartsWith("d.yaml:3:11: topology: there is no file xxx"));
  EXPECT_THAT(error_of("topology: {overhead_us: 0, links: []}\ntransfer: {bandwidth_bytes_per_us: 1, overhead_us: 0}"),
              StartsWith("d.yaml:4:11: 'transfer' and 'topology' are both given"));
  EXPECT_THAT(error_of("transfer: {bandwidth_bytes_per_us: 1, overhead_us: 0, model: some}"),
              StartsWith("d.yaml:3:62: model is 'some', expected shared or per_destination"));
}

TEST(Cluster, RefusesMoreDevicesThanAPlacementCanName) {
  std::string yaml = "devices:\n";
  for (int d = 0; d < 256; ++d) yaml += "  - {name: d" + std::to_string(d) + ", kind: x, memory_bytes: 1}\n";
  EXPECT_THAT(ClusterError(yaml + kRest), HasSubstr("has 256 entries, expected at most 255"));
}

TEST(Cluster, DamagedFilesAreReadOrRefused) {
  Rng rng(3);
  for (int round = 0; round < 20; ++round) {
    const std::string yaml = ClusterToYaml(RandomCluster(rng, {.link_model = static_cast<LinkModel>(round % 3)}));
    for (uint64_t i = 0; i < Trials(200); ++i) {
      std::string damaged = yaml;
      damaged[static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(yaml.size()) - 1))] =
          static_cast<char>(rng.UniformInt(0, 255));
      ClusterError(damaged);
    }
  }
}

}  // namespace
}  // namespace emplace
