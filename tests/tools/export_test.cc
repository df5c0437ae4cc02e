// `emplace export` on a run directory as the learner's own parts write it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/files/file_io.h"
#include "common/strings.h"
#include "learner/intake/placement_files.h"
#include "policy/placeto/placeto_kind.h"
#include "simulator/graph/graph_io.h"
#include "tests/learner/episodes.h"
#include "tests/tools/cli_folder.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;

class ExportTest : public CliFolder {
 protected:
  ExportTest() {
    for (size_t graph = 0; graph < workload_.train.size(); ++graph) {
      workload_.train[graph].name = StrCat("tiny_", graph);
      Write(StrCat("tiny_", graph, ".graph.json"), GraphToJson(workload_.train_graphs[graph]));
    }
    Write("d.yaml", ClusterToYaml(workload_.cluster));
    fs::create_directories(folder_ / "run" / "checkpoints" / "best");
    Write("run/config.yaml", "name: x\n");
  }

  // A sitting of training, without the training.
  void Sample(int episodes) {
    const std::atomic<bool> never = false;
    const RunDirectory dir(folder_ / "run", true, std::chrono::milliseconds(0), never);
    const RunClock clock(0);
    const EnvironmentConfig environment;
    BestPlacements best(workload_.train, PlacetoKind(), environment, clock);
    PlacementFiles files(dir, workload_, best);
    TrajectoryChecker checker(workload_.train, PlacetoKind(), environment);
    for (const Trajectory& episode : Episodes(workload_.train, environment, SmallPolicy(1, 3), episodes, Rng(1))) {
      EXPECT_EQ(best.Consider(episode, checker.Check(episode), checker), std::nullopt);
    }
    files.Write();
  }

  void WritePolicy(const std::string& name, PolicyVersion version, const std::string& ratio = "") const {
    PolicyWeights policy = SmallPolicy(version, version);
    if (!ratio.empty()) policy.metadata.insert({{"validation_ratio", ratio}, {"evaluated_on", "training"}});
    fs::create_directories((folder_ / name).parent_path());
    Write(name, SerializePolicy(policy));
  }

  Json Printed(const std::string& arguments) const {
    const Outcome outcome = Emplace(arguments + " --json");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  }

  Workload workload_ = RoomyWorkload(4, 3);
};

TEST_F(ExportTest, AnExportedPlacementSimulatesToWhatWasPrinted) {
  Sample(80);
  const Json overview = Printed("export run");
  ASSERT_EQ(overview.at("graphs").size(), 3U);
  int64_t sampled = 0;
  for (const Json& graph : overview.at("graphs")) {
    const std::string name = graph.at("graph");
    Json exported = Printed(StrCat("export run --graph ", name, " --placement out.json")).at("placement");
    EXPECT_EQ(exported.at("written"), "out.json");
    exported.erase("written");
    EXPECT_EQ(exported, graph);
    const Json simulated =
        Printed(StrCat("simulate --graph ", name, ".graph.json --devices d.yaml --placement out.json"));
    EXPECT_EQ(simulated.at("makespan_us"), graph.at("makespan_us"));
    EXPECT_LE(graph.at("episodes"), graph.at("sampled_episodes"));
    sampled += graph.at("sampled_episodes").get<int64_t>();
  }
  EXPECT_EQ(sampled, 80);
  const Outcome table = Emplace("export run");
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("no policy yet"));
  for (const Json& graph : overview.at("graphs")) EXPECT_THAT(table.out, HasSubstr(graph.at("makespan_us").dump()));
}

TEST_F(ExportTest, ThePolicyIsTheBestThereIs) {
  const auto chosen = [&](const std::string& expected_file) {
    Json policy = Printed("export run --policy out.safetensors").at("policy");
    EXPECT_EQ(policy.at("file"), expected_file);
    EXPECT_EQ(ReadFile(folder_ / "out.safetensors"), ReadFile(folder_ / "run" / expected_file));
    EXPECT_EQ(Printed("export run").at("policy").at("version"), policy.at("version"));
    return policy;
  };
  ExpectRefused("export run --policy out.safetensors", "has no policy yet");
  for (const PolicyVersion version : {50U, 200U, 100U}) {
    WritePolicy(StrCat("run/checkpoints/update_00000", version < 100 ? "0" : "", version, "/policy.safetensors"),
                version);
  }
  WritePolicy("run/checkpoints/update_kept/policy.safetensors", 300);  // Somebody's own copy.
  Write("run/checkpoints/update_kept/state.json", "{}");
  Write("run/checkpoints/update_00000050/state.json", "{}");
  Write("run/checkpoints/update_00000100/state.json", "{}");
  EXPECT_EQ(chosen("checkpoints/update_00000100/policy.safetensors").at("version"), 100);  // 200 is half-written.
  Write("run/checkpoints/update_00000100/policy.safetensors", "half");
  EXPECT_EQ(chosen("checkpoints/update_00000050/policy.safetensors").at("validation_ratio"), nullptr);
  WritePolicy("run/checkpoints/best/policy.safetensors", 60, "0.75");
  EXPECT_EQ(chosen("checkpoints/best/policy.safetensors").at("validation_ratio"), 0.75);
  WritePolicy("run/policy.safetensors", 60, "0.75");  // The run is over,
  chosen("policy.safetensors");
  WritePolicy("run/checkpoints/best/policy.safetensors", 90, "0.7");  // and goes on.
  EXPECT_EQ(chosen("checkpoints/best/policy.safetensors").at("validation_ratio"), 0.7);
  EXPECT_THAT(Emplace("export run").out,
              HasSubstr("policy of version 90, makespan / one device 0.7000 on the training graphs: "));
}

TEST_F(ExportTest, AnOnnxModelIsThePolicyToo) {
  ExpectRefused("export run --onnx out.onnx", "has no policy yet");
  WritePolicy("run/policy.safetensors", 60);
  const Json policy = Printed("export run --onnx out.onnx --policy out.safetensors").at("policy");
  EXPECT_EQ(policy.at("onnx"), "out.onnx");
  EXPECT_EQ(policy.at("written"), "out.safetensors");
  EXPECT_THAT(ReadFile(folder_ / "out.onnx"), HasSubstr("classifier.2.weight"));
}

TEST_F(ExportTest, ARunDirectoryStandsForItsBestPolicy) {
  const std::string place = "place --graph tiny_0.graph.json --devices d.yaml --method policy --policy ";
  ExpectRefused(place + "run --out out.json", "has no policy yet");
  WritePolicy("run/policy.safetensors", 60);
  Json by_run = Printed(place + "run");
  Json by_file = Printed(place + "run/policy.safetensors");
  for (Json* placed : {&by_run, &by_file}) placed->erase("seconds");
  EXPECT_EQ(by_run, by_file);
}

TEST_F(ExportTest, ARunIsNotWrittenOver) {
  Sample(80);
  WritePolicy("run/policy.safetensors", 60);
  WritePolicy("run/checkpoints/best/policy.safetensors", 50);
  const std::string policy = ReadFile(folder_ / "run/policy.safetensors");
  ExpectRefused(
      "export run --policy run/checkpoints/../policy.safetensors",
      "--policy is 'run/checkpoints/../policy.safetensors', which belongs to run 'run', expected another file");
  ExpectRefused("export run --onnx run/checkpoints/best/policy.safetensors", "which belongs to run 'run'");
  ExpectRefused("export run --graph tiny_1 --placement run/placements/tiny_0.placement.json",
                "--placement is 'run/placements/tiny_0.placement.json', which belongs to run 'run'");
  ExpectRefused("export run --policy out --onnx ./out", "--onnx is './out', which belongs to --policy");
  ExpectRefused("export run --policy out --graph tiny_1 --placement out", "--placement is 'out'");
  ExpectRefused("place --graph tiny_0.graph.json --devices d.yaml --policy run --out run/summary.json",
                "--out is 'run/summary.json', which belongs to --policy");
  ExpectRefused("evaluate --graphs tiny_0.graph.json --devices d.yaml --policy run --out run/placements.jsonl",
                "--out is 'run/placements.jsonl', which belongs to --policy");
  ExpectRefused("report run --out run/config.yaml", "--out is 'run/config.yaml', which belongs to source 'run'");
  EXPECT_EQ(ReadFile(folder_ / "run/config.yaml"), "name: x\n");
  EXPECT_EQ(ReadFile(folder_ / "run/policy.safetensors"), policy);
  // What others write there may be written again.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Emplace("export run --graph tiny_1 --placement run/best.json").exit_code, 0);
  }
}

TEST_F(ExportTest, InspectSaysWhatTheFilesAre) {
  Sample(80);
  const auto what = [&](const std::string& file) { return Printed("inspect run/" + file).at("what"); };
  EXPECT_EQ(what("placements/index.json"), "emplace.placements/1");
  EXPECT_EQ(what("placements"), "emplace.placements/1");
  EXPECT_EQ(what("placements/tiny_0.placement.json"), "placement (emplace.placement/1)");
  EXPECT_EQ(what("placements.jsonl"), "best placements that a training run has found");
  Write("later.json", R"({"format": "emplace.placement/2", "ops": {}})");
  ExpectRefused("inspect later.json", "later.json: ");
}

TEST_F(ExportTest, AGraphWithoutAPlacementIsListed) {
  Sample(0);
  const Json overview = Printed("export run");
  ASSERT_EQ(overview.at("graphs").size(), 3U);
  EXPECT_EQ(overview.at("graphs")[2].at("makespan_us"), nullptr);
  EXPECT_EQ(overview.at("graphs")[2].at("sampled_episodes"), 0);
  ExpectRefused("export run --graph tiny_2 --placement out.json", "no placement of graph 'tiny_2'");
}

TEST_F(ExportTest, WrongInputIsOneLineAndWritesNothing) {
  ExpectRefused("export run --graph tiny_1 --placement out.json", "it has not trained yet");
  Sample(80);
  WritePolicy("run/policy.safetensors", 60);
  ExpectRefused("export run --graph tiny1 --placement out.json --policy out.safetensors", "did you mean 'tiny_1'?");
  ExpectRefused("export run --graph something_else --placement out.json", "expected one of tiny_0, tiny_1, tiny_2");
  ExpectRefused("export run --graph tiny_1", "--placement");
  ExpectRefused("export run --placement out.json", "--graph");
  ExpectRefused("export run --policy ''", "--policy");
  ExpectRefused("export nowhere", "nowhere: holds no run");
  ExpectRefused("export .", "holds no run");
  Write("secret.json", "{}");
  Write("run/placements/index.json",
        R"({"graphs": [{"graph": "tiny_1", "file": "../../secret.json", "episodes": 1, "steps": 1}]})");
  ExpectRefused("export run --graph tiny_1 --placement out.json", "is no file of run/placements");
  Write("run/placements/index.json", R"({"graphs": [{"graph": "tiny_1", "file": "tiny_1.placement.json"}]})");
  ExpectRefused("export run --graph tiny_1 --placement out.json", "run/placements/index.json");
  Write("run/placements/index.json", "{");
  ExpectRefused("export run", "run/placements/index.json:1:");
  EXPECT_FALSE(fs::exists(folder_ / "out.json"));
  EXPECT_FALSE(fs::exists(folder_ / "out.safetensors"));
}

}  // namespace
}  // namespace emplace
