// `emplace-hardware` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/files/file_io.h"
#include "simulator/graph/graph_io.h"
#include "simulator/graph/measured_costs.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"
#include "tests/tools/cli_folder.h"

namespace emplace {
namespace {

constexpr char kGraph[] = "--graph " EMPLACE_TEST_GRAPHS "/mlp.graph.json ";

class HardwareCommand : public CliFolder {
 protected:
  HardwareCommand() {
    Write("cpus.yaml", Devices("cpu:0", "") + Device("cpu:1", "") + kLinks);
    Write("one.json", "[" + Repeated("0", 25) + "]");
    std::string split;
    for (int op = 0; op < 25; ++op) split += op < 6 || op % 2 == 0 ? (op > 0 ? ", 0" : "0") : ", 1";
    Write("split.json", "[" + split + "]");
  }

  static constexpr char kLinks[] = "op_overhead_us: 1\ntransfer: {bandwidth_bytes_per_us: 1000, overhead_us: 0}\n";
  static std::string Device(const std::string& name, const std::string& more) {
    return "  - {name: \"" + name + "\", kind: cpu, memory_bytes: 1e9" + more + "}\n";
  }
  static std::string Devices(const std::string& name, const std::string& more) {
    return "devices:\n" + Device(name, more);
  }
  static std::string Repeated(const std::string& text, int count) {
    std::string all = text;
    for (int i = 1; i < count; ++i) all += ", " + text;
    return all;
  }
};

TEST_F(HardwareCommand, RunPrintsMeasuredAndPredictedTimes) {
  const Outcome outcome = Emplace(std::string("run ") + kGraph +
                                  "--devices cpus.yaml --placement one.json --steps 5 --by-op --by-link --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json document = nlohmann::json::parse(outcome.out);
  EXPECT_GT(document["measured_us"].get<double>(), 0);
  EXPECT_GT(document["predicted_us"].get<double>(), 0);
  EXPECT_GE(document["spread_us"].get<double>(), 0);
  EXPECT_EQ(document["steps"], 5);
  EXPECT_EQ(document["undisturbed_us"].is_null(), document["undisturbed_steps"] == 0);
  EXPECT_EQ(document["ops"].size(), 19u);  // 25 without 4 parameters and 2 inputs.
  EXPECT_EQ(document["links"].size(), 2u);
  EXPECT_EQ(document["links"][0]["copies"], 0);
  const Outcome text = Emplace(std::string("run ") + kGraph + "--devices cpus.yaml --placement one.json --steps 2");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, testing::AllOf(testing::HasSubstr("measured"), testing::HasSubstr("predicted")));
}

TEST_F(HardwareCommand, RunWritesTheTraceOfAMeasuredStep) {
  const Outcome outcome =
      Emplace(std::string("run ") + kGraph + "--devices cpus.yaml --placement split.json --steps 3 --trace trace.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json trace = nlohmann::json::parse(ReadFile(folder_ / "trace.json"));
  int32_t ops = 0;
  int32_t transfers = 0;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++(event["cat"] == "transfer" ? transfers : ops);
    EXPECT_GE(event["dur"].get<double>(), 0);
  }
  EXPECT_EQ(ops, 25);
  EXPECT_GT(transfers, 0);
}

TEST_F(HardwareCommand, ProfileWritesCostsAndAMachineThatCanBeRead) {
  const Outcome outcome =
      Emplace(std::string("profile ") + kGraph +
              "--devices cpus.yaml --out costs.csv --devices-out measured.yaml --seconds 0.01 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json document = nlohmann::json::parse(outcome.out);
  const MeasuredCosts costs = MeasuredCosts::Parse(ReadFile(folder_ / "costs.csv"), "costs.csv");
  EXPECT_EQ(costs.costs().size(), document["costs"].size());
  EXPECT_EQ(costs.kinds(), std::set<std::string>{"cpu"});
  // Every op with a call has a cost now.
  const MeasuredGraph measured = ApplyMeasuredCosts(LoadGraph(EMPLACE_TEST_GRAPHS "/mlp.graph.json"), costs);
  EXPECT_EQ(measured.coverage.at(0).measured_ops, 19);
  const Cluster machine = LoadCluster(folder_ / "measured.yaml");
  EXPECT_EQ(machine.num_devices(), 2);
  EXPECT_EQ(machine.link_model, LinkModel::kTopology);
  EXPECT_EQ(machine.topology.links.size(), 1u);
  EXPECT_GT(machine.topology.links.at(0).bandwidth_bytes_per_us, 0);
}

TEST_F(HardwareCommand, PlaceMeasuresStepsAndWritesTheBest) {
  const Outcome outcome =
      Emplace(std::string("place ") + kGraph +
              "--devices cpus.yaml --measurements 6 --seconds 0.02 --steps 2 --out best.json --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json document = nlohmann::json::parse(outcome.out);
  EXPECT_LE(document["measurements"], 6);
  EXPECT_GE(document["trials"].size(), 1u);
  EXPECT_EQ(document["failed"], 0);
  EXPECT_FALSE(document["stopped"]);
  EXPECT_GT(document["one_device_us"].get<double>(), 0);
  EXPECT_LE(document["ratio"].get<double>(), 1);
  EXPECT_DOUBLE_EQ(document["measured_us"].get<double>(),
                   document["ratio"].get<double>() * document["one_device_us"].get<double>());
  const OpGraph graph = LoadGraph(EMPLACE_TEST_GRAPHS "/mlp.graph.json");
  EXPECT_NO_THROW(LoadOrderedPlacement(folder_ / "best.json", graph, LoadCluster(folder_ / "cpus.yaml")));
  const Outcome run = Emplace(std::string("run ") + kGraph + "--devices cpus.yaml --placement best.json --steps 2");
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

TEST_F(HardwareCommand, PlaceOnOneDeviceMeasuresNothingAndSaysSo) {
  Write("alone.yaml", Devices("cpu:0", "") + kLinks);
  const std::string place = std::string("place ") + kGraph + "--devices alone.yaml --seconds 0.02 --out best.json";
  const Outcome text = Emplace(place);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, testing::HasSubstr("there was nothing to measure"));
  EXPECT_THAT(text.out, testing::Not(testing::HasSubstr("measured   ")));
  const Outcome json = Emplace(place + " --json");
  ASSERT_EQ(json.exit_code, 0) << json.err;
  for (const char* key : {"measured_us", "ratio", "one_device_us"}) {
    EXPECT_TRUE(nlohmann::json::parse(json.out)[key].is_null()) << key;
  }
}

TEST_F(HardwareCommand, PlaceHandsOutItsBestWhenItIsInterrupted) {
  const Outcome outcome =
      EmplaceInterrupted(std::string("place ") + kGraph +
                         "--devices cpus.yaml --measurements 10000 --seconds 0.001 --steps 2 --out best.json --json");
  if (outcome.exit_code == 1) {  // On a very busy computer no step was measured within the second.
    EXPECT_THAT(outcome.err, testing::HasSubstr("interrupted"));
    return;
  }
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GE(nlohmann::json::parse(outcome.out)["measurements"], 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "best.json"));
}

TEST_F(HardwareCommand, PlaceRefusesWhatItCannotMeasure) {
  const std::string place = std::string("place ") + kGraph + "--devices cpus.yaml --out best.json ";
  ExpectRefused(place + "--measurements 0", "--measurements: Value 0 not in range");
  ExpectRefused(place + "--steps 1", "--steps: Value 1 not in range");
  ExpectRefused(place + "--seconds nan", "--seconds: Value nan");
  ExpectRefused(std::string("place ") + kGraph + "--devices cpus.yaml --out ./cpus.yaml",
                "--out is './cpus.yaml', which belongs to --devices");
  Write("gpus.yaml", Devices("cuda:99", "") + kLinks);
  ExpectRefused(std::string("place ") + kGraph + "--devices gpus.yaml --out best.json", "device 'cuda:99': ");
  Write("plain.graph.json",
        R"({"format": "emplace.graph/1", "name": "g", "ops": [{"name": "a", "cost_us": 1, "inputs": []}]})");
  ExpectRefused("place --graph plain.graph.json --devices cpus.yaml --out best.json", "op 'a' has no call");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "best.json"));
}

TEST_F(HardwareCommand, RefusesDevicesThatAreNotHere) {
  const std::string run = std::string("run ") + kGraph + "--placement one.json --devices ";
  Write("gpus.yaml", Devices("cuda:99", "") + kLinks);
  ExpectRefused(run + "gpus.yaml", "device 'cuda:99': ");
  Write("far.yaml", Devices("cpu:0", ", cores: [60000]") + kLinks);
  ExpectRefused(run + "far.yaml", "device 'cpu:0': core 60000 is not there");
  ExpectRefused(std::string("profile ") + kGraph + "--devices far.yaml --out c.csv --devices-out d.yaml",
                "core 60000 is not there");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "c.csv"));
  Write("both.yaml", Devices("cpu:0", ", cores: [0]") + Device("cpu:1", ", cores: [0]") + kLinks);
  ExpectRefused(run + "both.yaml", "device 'cpu:1': core 0 is also one of 'cpu:0'");
}

TEST_F(HardwareCommand, WritesOverNothingThatItReads) {
  std::filesystem::copy(EMPLACE_TEST_GRAPHS "/mlp.graph.json", folder_ / "g.graph.json");
  const std::string machine = ReadFile(folder_ / "cpus.yaml");
  const std::string profile = "profile --graph g.graph.json --devices cpus.yaml --seconds 0.01 ";
  ExpectRefused(profile + "--out both --devices-out ./both", "--devices-out is './both', which belongs to --out");
  ExpectRefused(profile + "--out g.graph.json --devices-out d.yaml",
                "--out is 'g.graph.json', which belongs to --graph");
  ExpectRefused(profile + "--out c.csv --devices-out ./cpus.yaml", "which belongs to --devices, expected another file");
  const std::string run = "run --graph g.graph.json --devices cpus.yaml --placement one.json --steps 1 --trace ";
  for (const std::string input : {"g.graph.json", "cpus.yaml", "one.json"}) {
    ExpectRefused(run + input, "--trace is '" + input + "', which belongs to --");
  }
  EXPECT_EQ(ReadFile(folder_ / "cpus.yaml"), machine);
  for (const char* output : {"both", "c.csv", "d.yaml"}) EXPECT_FALSE(std::filesystem::exists(folder_ / output));
}

TEST_F(HardwareCommand, TheActorChecksDevicesAndNameBeforeItJoins) {
  // There is no learner there. Keys that do not exist are refused without one as well, but after what is tested.
  const std::string actor = "actor --learner tcp://127.0.0.1:1 --keys none.keys ";
  ExpectRefused(actor + "--devices cpus.yaml", "none.keys");
  Write("others.yaml", Devices("gpu:0", "") + kLinks);
  ExpectRefused(actor + "--devices others.yaml",
                "others.yaml: device 'gpu:0': no device of this computer, expected a name such as cpu:0 or cuda:0");
  Write("far.yaml", Devices("cpu:0", ", cores: [60000]") + kLinks);
  ExpectRefused(actor + "--devices far.yaml", "far.yaml: device 'cpu:0': core 60000 is not there");
  Write("gpus.yaml", Devices("cuda:99", "") + kLinks);
  ExpectRefused(actor + "--devices gpus.yaml", "gpus.yaml: device 'cuda:99': ");
  ExpectRefused(actor + "--name ''", "--name is '', expected 1 to 300 printable ASCII characters without spaces");
  ExpectRefused(actor + "--name 'a b'", "--name is 'a b', expected 1 to 300");
}

TEST_F(HardwareCommand, RefusesGraphsThatCannotBeRun) {
  const std::string begin =
      R"({"format": "emplace.graph/1", "name": "g", "ops": [{"name": "a", "cost_us": 1, "inputs": [])";
  Write("p.json", "[0]");
  Write("plain.graph.json", begin + "}]}");
  ExpectRefused("run --graph plain.graph.json --devices cpus.yaml --placement p.json", "op 'a' has no call");
  ExpectRefused("profile --graph plain.graph.json --devices cpus.yaml --out c.csv --devices-out d.yaml",
                "plain.graph.json: none of its ops can be run: op 'a' has no call");
  Write("evil.graph.json", begin + R"(, "call": {"op": "aten.save.default"}}]})");
  ExpectRefused("run --graph evil.graph.json --devices cpus.yaml --placement p.json",
                "op 'a': call: op is \"aten.save.default\", expected an operator that may be run");
  ExpectRefused(std::string("run ") + kGraph + "--devices cpus.yaml --placement one.json --throttle-latency 3",
                "--throttle");
  ExpectRefused(std::string("run ") + kGraph + "--devices cpus.yaml --placement one.json --throttle-bandwidth nan",
                "--throttle-bandwidth: Value nan");
  for (const std::string seconds : {"nan", "0", "1e300"}) {
    ExpectRefused(
        std::string("profile ") + kGraph + "--devices cpus.yaml --out c.csv --devices-out d.yaml --seconds " + seconds,
        "--seconds: Value " + seconds + " not in range 1e-06 to 1e+06");
  }
}

}  // namespace
}  // namespace emplace
