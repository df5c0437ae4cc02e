// The `emplace` command as a user runs it: what it prints, what it writes, and its exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "common/files/file_io.h"
#include "common/strings.h"
#include "common/wire/access/keys.h"
#include "tests/tools/tiny_graph.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using CliTest = TinyGraphFolder;

TEST_F(CliTest, SimulatePrintsTheDocumentedJson) {
  Write("p.json",
        R"({"format": "emplace.placement/1", "devices": ["gpu:0", "gpu:1"], "ops": {"a": 0, "b": 1, "c": 1}})");
  const Outcome outcome = Emplace("simulate --graph g.graph.json --devices d.yaml --placement p.json --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json printed = Json::parse(outcome.out);
  EXPECT_EQ(printed, (Json{{"makespan_us", 25.0},
                           {"peak_bytes", {0, 0}},
                           {"start_us", {0.0, 0.0, 20.0}},
                           {"finish_us", {10.0, 20.0, 25.0}}}));
}

TEST_F(CliTest, SimulateFollowsTheOrderOfAPlacement) {
  const std::string head =
      R"({"format": "emplace.placement/1", "devices": ["gpu:0", "gpu:1"], "ops": {"a": 0, "b": 0, "c": 0}, "order": )";
  Write("p.json", head + R"({"gpu:0": ["b", "a", "c"]}})");
  const Outcome outcome =
      Emplace("simulate --graph g.graph.json --devices d.yaml --placement p.json --trace t.json --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["start_us"], (Json::array({20.0, 0.0, 30.0})));
  std::map<std::string, double> traced;
  const Json trace = Json::parse(ReadFile(folder_ / "t.json"));
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") traced[event["name"]] = event["ts"];
  }
  EXPECT_EQ(traced, (std::map<std::string, double>{{"a", 20}, {"b", 0}, {"c", 30}}));
  Write("p.json", head + R"({"gpu:0": ["c", "b", "a"]}})");
  ExpectRefused("simulate --graph g.graph.json --devices d.yaml --placement p.json", "no device could go on");
  Write("p.json", head + R"({"gpu:0": ["a", "b"]}})");
  ExpectRefused("simulate --graph g.graph.json --devices d.yaml --placement p.json", "op 'c' is missing");
}

TEST_F(CliTest, SimulateRefusesWhatItCannotUse) {
  Write("p.json", "[0, 1, 1]");
  std::string far = ReadFile(folder_ / "d.yaml");
  const size_t transfer = far.find("transfer: {");
  ASSERT_NE(transfer, std::string::npos);
  Write("far.yaml", far.insert(transfer + std::string("transfer: {").size(), "latency_us: 1.0e300, "));
  ExpectRefused(
      "simulate --graph g.graph.json --devices far.yaml --placement p.json",
      "g.graph.json on far.yaml: costs, overheads and transfers add up to 2e+300 us, expected less than 2^63");
  ExpectRefused("simulate --graph g.graph.json --devices d.yaml --placement p.json --trace ''", "--trace");
}

TEST_F(CliTest, OutputThatIsLostIsAFailure) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  ASSERT_EQ(Emplace("place --graph g.graph.json --devices d.yaml --method single --out placed.json").exit_code, 0);
  ASSERT_EQ(Emplace("evaluate --graphs g.graph.json --devices d.yaml --methods single --out results.json").exit_code,
            0);
  const std::string inputs = "--graph g.graph.json --devices d.yaml ";
  for (const std::string& arguments :
       {std::string("--help"), std::string("--version"), std::string("place --help"),
        "place " + inputs + "--method single", "place " + inputs + "--method single --json",
        "place " + inputs + "--method single --out /dev/stdout", "simulate " + inputs + "--placement placed.json",
        "simulate " + inputs + "--placement placed.json --json",
        std::string("evaluate --graphs g.graph.json --devices d.yaml --methods single"),
        std::string("evaluate --graphs g.graph.json --devices d.yaml --methods single --json"),
        std::string("inspect g.graph.json"), std::string("inspect g.graph.json --json"),
        std::string("report results.json --out r.html"), std::string("generate ptb --out made --count 1 --size small"),
        std::string("keygen keys")}) {
    const Outcome outcome = Emplace(arguments + " >/dev/full 2>lost.txt; echo $? >code.txt; true");
    const std::string line = ReadFile(folder_ / "lost.txt");
    EXPECT_EQ(ReadFile(folder_ / "code.txt"), "1\n") << arguments << "\n" << line;
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << arguments << "\n" << line;
    EXPECT_THAT(line, AllOf(HasSubstr("cannot be written"), HasSubstr("No space left on device"))) << arguments;
  }
}

TEST_F(CliTest, AReaderThatHadEnoughIsNoFailure) {
  // The shell's job: its output goes to a pipe that `:` does not read.
  const std::string late =
      StrCat("(sleep 0.2; '", EMPLACE_BINARY, "' inspect g.graph.json --json; echo $? >code.txt) | :");
  Emplace(StrCat("--version >v.txt; ", late, "; sleep 1; true"));
  EXPECT_EQ(ReadFile(folder_ / "code.txt"), "0\n");
}

TEST_F(CliTest, AnInterruptedCommandLeavesNothingHalfWritten) {
  // It does not look whether it is interrupted, and would take minutes.
  const Outcome outcome = EmplaceInterrupted("generate nmt --out many --count 10000");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "emplace: interrupted\n");
  for (const fs::directory_entry& file : fs::recursive_directory_iterator(folder_))
    EXPECT_NE(file.path().filename().string().front(), '.') << file.path();
}

TEST_F(CliTest, GenerateIsByteIdenticalForASeed) {
  ASSERT_EQ(Emplace("generate ptb --out one --count 3 --seed 7 --size small").exit_code, 0);
  ASSERT_EQ(Emplace("generate ptb --out two --count 3 --seed 7 --size small").exit_code, 0);
  ASSERT_EQ(Emplace("generate ptb --out other --count 3 --seed 8 --size small").exit_code, 0);
  EXPECT_THAT(Emplace("generate ptb --out third --count 3 --size small").out, Not(HasSubstr("note: ")));
  EXPECT_THAT(Emplace("generate ptb --out third --count 2 --size small").out,
              HasSubstr("note: third also has 1 other graph, such as ptb_02.graph.json"));
  EXPECT_EQ(ReadFile(folder_ / "one/ptb_00.graph.json"), ReadFile(folder_ / "two/ptb_00.graph.json"));
  EXPECT_NE(ReadFile(folder_ / "one/ptb_00.graph.json"), ReadFile(folder_ / "one/ptb_01.graph.json"));
  EXPECT_NE(ReadFile(folder_ / "one/ptb_00.graph.json"), ReadFile(folder_ / "other/ptb_00.graph.json"));
}

TEST_F(CliTest, GenerateDividesStepsIntoMicrobatches) {
  ASSERT_EQ(Emplace("generate ptb --out parts --count 1 --size small --microbatches 4").exit_code, 0);
  EXPECT_THAT(ReadFile(folder_ / "parts/ptb_00.graph.json"), HasSubstr("\"copy_of\":\"t00/n00/mm\""));
  EXPECT_EQ(Json::parse(ReadFile(folder_ / "parts/split.json"))["microbatches"], 4);
  ExpectRefused("generate inception_v3 --out none --microbatches 48", "micro-batches is 48, expected 1..47");
  ExpectRefused("generate ptb --out none --microbatches 0", "--microbatches");
}

TEST_F(CliTest, GenerateInstancesWritesGraphsAndMachinesThatCanBePlaced) {
  const std::string limits = " --max-ops 150 --max-devices 4";
  const Outcome made = Emplace("generate instances --part test --count 3 --seed 5 --out some" + limits);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  ASSERT_EQ(Emplace("generate instances --part test --first 2 --count 1 --seed 5 --out last" + limits).exit_code, 0);
  size_t graphs = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(folder_ / "some")) {
    const std::string path = file.path().string();
    if (!path.ends_with(".graph.json")) continue;
    ++graphs;
    const std::string stem = path.substr(0, path.size() - std::string(".graph.json").size());
    EXPECT_THAT(made.out, HasSubstr(fs::path(stem).filename().string()));
    EXPECT_EQ(Emplace(StrCat("place --graph ", path, " --devices ", stem, ".devices.yaml --budget 20")).exit_code, 0);
  }
  EXPECT_EQ(graphs, 3u);
  for (const fs::directory_entry& file : fs::directory_iterator(folder_ / "last"))
    EXPECT_EQ(ReadFile(file.path()), ReadFile(folder_ / "some" / file.path().filename()));
  ExpectRefused("generate instances", "--out is required");
  ExpectRefused("generate instances --out x --part all", "part is 'all', expected train, validation or test");
  ExpectRefused("generate instances --out x --max-ops 3", "max_ops is '3', expected 16..");
  ExpectRefused("generate instances --out x --min-ops 3000", "min_ops is 3000, expected at most max_ops, 2000");
  ExpectRefused("generate --out x", "family is required");
  ExpectRefused("generate --seed 7 instances --out x", "--seed: is given before 'instances'");
  ExpectRefused("generate ptb", "--out is required");
}

TEST_F(CliTest, ImportPutsMeasuredCostsIntoAGraph) {
  // On k80 a and b cost 30 each now, c still 5; the row for aten.relu finds no op.
  Write("t.csv", "type,shapes,kind,us\naten.mm,,k80,29\naten.mm,,k80,31\naten.relu,4x4,k80,1\n");
  const Outcome imported = Emplace("costs --costs t.csv --graph g.graph.json --out new/m.graph.json.zst --json");
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  const Json report = Json::parse(imported.out);
  EXPECT_EQ(report["graphs"], (Json{{{"graph", "tiny"},
                                     {"file", "new/m.graph.json.zst"},
                                     {"ops", 3},
                                     {"kinds",
                                      {{{"kind", "k80"},
                                        {"measured_ops", 2},
                                        {"runnable_ops", 3},
                                        {"measured_us", 60.0},
                                        {"runnable_us", 65.0},
                                        {"measured_share", 60.0 / 65.0}}}}}}));
  EXPECT_EQ(report["unmeasured_types"], (Json{{{"kind", "k80"}, {"type", "aten.add"}, {"ops", 1}, {"us", 5.0}}}));
  EXPECT_EQ(report["unused_rows"], (Json{{{"line", 4}, {"type", "aten.relu"}, {"shapes", "4x4"}, {"kind", "k80"}}}));
  Write("p.json", "[0, 1, 1]");
  const Outcome simulated = Emplace("simulate --graph new/m.graph.json.zst --devices d.yaml --placement p.json --json");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_EQ(Json::parse(simulated.out)["makespan_us"], 35.0);  // max(30, 30) + 5
}

TEST_F(CliTest, ImportOfSeveralGraphsWritesAFolder) {
  Write("t.csv", "type,shapes,kind,us\naten.mm,,k80,30\n");
  ASSERT_EQ(Emplace("generate ptb --out ptb --count 2 --size small").exit_code, 0);
  const Outcome imported = Emplace("costs --costs t.csv --graph g.graph.json --graph ptb --out all");
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_NE(imported.out.find("3 graphs written to all"), std::string::npos) << imported.out;
  for (const char* name : {"g", "ptb_00", "ptb_01"}) {
    EXPECT_TRUE(fs::exists(folder_ / "all" / StrCat(name, ".graph.json"))) << name;
  }
}

TEST_F(CliTest, ImportWritesNothingOnAnError) {
  Write("good.csv", "type,shapes,kind,us\naten.mm,,k80,30\n");
  Write("bad.csv", "type,shapes,kind,us\naten.mm,,k80,30\naten.mm,4y4,k80,fast\n");
  Write("broken.graph.json", "{");
  ExpectRefused("costs --costs bad.csv --graph g.graph.json --out new.graph.json",
                "bad.csv:3:9: shapes is '4y4', expected");
  ExpectRefused("costs --costs good.csv --graph g.graph.json --graph broken.graph.json --out new",
                "broken.graph.json:1:");
  ExpectRefused("costs --costs good.csv --graph g.graph.json --graph ./g.graph.json --out new", "second graph");
  ExpectRefused("costs --costs none.csv --graph g.graph.json --out new.graph.json", "none.csv");
  ExpectRefused("costs --costs good.csv --graph g.graph.json --out new.graph.json --kinds cpu,", "--kinds");
  ExpectRefused("costs --costs good.csv --graph g.graph.json", "--out");
  EXPECT_FALSE(fs::exists(folder_ / "new.graph.json"));
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

TEST_F(CliTest, ReportWritesOnePage) {
  const Outcome evaluated = Emplace("evaluate --graphs g.graph.json --devices d.yaml --methods single,random --json");
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  Write("results.json", evaluated.out);
  Write("placed.json", "[0, 1, 1]");
  const Outcome reported = Emplace(
      "report results.json --graph g.graph.json --devices d.yaml --placement placed.json --title 'a & b' --out r.html");
  ASSERT_EQ(reported.exit_code, 0) << reported.err;
  const std::string page = ReadFile(folder_ / "r.html");
  EXPECT_NE(page.find("<title>a &amp; b</title>"), std::string::npos);
  EXPECT_NE(page.find("\"makespan_us\":25.0"), std::string::npos);
  const Outcome again = Emplace(
      "report results.json --graph g.graph.json --devices d.yaml --placement placed.json --title 'a & b' --out "
      "r2.html");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(page, ReadFile(folder_ / "r2.html"));
}

TEST_F(CliTest, ReportWritesNothingOnAnError) {
  Write("broken.json", "{\"results\": [");
  Write("results.json",
        R"({"results": [{"graph": "g", "method": "m", "makespan_us": 1, "feasible": true, "evaluations": 1,
                                          "seconds": 0}]})");
  ExpectRefused("report --out r.html", "sources");
  ExpectRefused("report results.json", "--out");
  ExpectRefused("report nowhere --out r.html", "nowhere: does not exist, expected");
  ExpectRefused("report results.json ./results.json --out r.html", "source './results.json' is named twice, expected");
  ExpectRefused("report . --out r.html", "without config.yaml, expected a run directory");
  ExpectRefused("report broken.json --out r.html", "broken.json:1:");
  ExpectRefused("report g.graph.json --out r.html", "g.graph.json: has no list 'results', expected");
  ExpectRefused("report results.json --out r.html --graph g.graph.json", "expected all three or none");
  ExpectRefused("report results.json --out none/r.html", "--out is 'none/r.html': there is no folder 'none'");
  EXPECT_FALSE(fs::exists(folder_ / "r.html"));
}

TEST_F(CliTest, InspectSaysWhatAFileIs) {
  const auto what = [&](const std::string& file) {
    const Outcome outcome = Emplace("inspect --json " + file);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out).value("what", "");
  };
  EXPECT_EQ(what("g.graph.json"), "graph (emplace.graph/1)");
  EXPECT_EQ(what("d.yaml"), "devices");
  EXPECT_EQ(what(StrCat(EMPLACE_CONFIGS, "/clusters/v100x4_nvlink.yaml")), "devices");
  EXPECT_EQ(what("p.safetensors"), "policy (emplace.policy/1)");
  EXPECT_EQ(what(StrCat(EMPLACE_CONFIGS, "/ptb.yaml")), "run configuration");
  EXPECT_EQ(what(StrCat(EMPLACE_CONFIGS, "/devices/k80.yaml")), "device kind (cost model)");
  ASSERT_EQ(Emplace("evaluate --graphs g.graph.json --devices d.yaml --methods single --out e.json").exit_code, 0);
  EXPECT_EQ(what("e.json"), "results of an evaluation");
  Write("summary.json", R"({"interrupted": false, "updates": 3, "train_seconds": 1.5})");
  EXPECT_EQ(what("summary.json"), "summary of a training run");
  fs::create_directories(folder_ / "checkpoints/update_00000003");
  EXPECT_EQ(what("checkpoints"), "checkpoints of a training run, the newest first");
  fs::create_directories(folder_ / "checkpoints/best");
  fs::copy_file(folder_ / "p.safetensors", folder_ / "checkpoints/best/policy.safetensors");
  EXPECT_EQ(what("checkpoints/best"), "policy (emplace.policy/1)");
}

TEST_F(CliTest, InspectChecksAConfigurationWithReplacedValues) {
  const std::string file = StrCat(EMPLACE_CONFIGS, "/smoke.yaml");
  const Outcome outcome = Emplace(StrCat("inspect --json ", file, " --set name=other --set training.iterations=7"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).at("name"), "other");
  EXPECT_EQ(Json::parse(outcome.out).at("iterations"), 7);
  ExpectRefused(StrCat("inspect ", file, " --set training.iterations=-1"), "training.iterations is -1, expected");
  ExpectRefused(StrCat("inspect ", file, " --set training.iteration=1"), "training.iteration");
  ExpectRefused("inspect g.graph.json --set name=x", "g.graph.json:");
}

TEST_F(CliTest, InspectSaysWhetherAPolicyPools) {
  for (const bool pooling : {true, false}) {
    Write("policy.safetensors",
          SerializePolicy(InitialPlaceto(PlacetoShape{.num_devices = 2, .pooling = pooling}, Rng(1))));
    const Outcome outcome = Emplace("inspect --json policy.safetensors");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(Json::parse(outcome.out).at("pooling"), pooling);
  }
}

TEST_F(CliTest, APolicyForTwoDevicesSaysSoOnThree) {
  ExpectRefused("place --graph g.graph.json --devices d3.yaml --policy p.safetensors", "2 devices, d3.yaml has 3");
  ExpectRefused("evaluate --graphs g.graph.json --devices d3.yaml --policy p.safetensors --methods policy",
                "2 devices, d3.yaml has 3");
}

TEST_F(CliTest, DamagedFilesGiveOneLine) {
  const std::string policy = ReadFile(folder_ / "p.safetensors");
  Write("half.safetensors", policy.substr(0, policy.size() / 2));
  Write("half.graph.json", std::string(kGraph).substr(0, 200));
  Write("cycle.graph.json", R"({"format": "emplace.graph/1", "name": "c", "ops": [
    {"name": "a", "type": "t", "cost_us": 1, "inputs": ["b:0"], "outputs": [{"bytes": 1}]},
    {"name": "b", "type": "t", "cost_us": 1, "inputs": ["a:0"], "outputs": [{"bytes": 1}]}]})");
  Write("bad.yaml", "devices:\n  - {name: \"gpu:0\", kind: k80, memory_bytes: -1}\n");
  Write("three.json", "[0, 1, 5]");
  Write("two.json", "[0, 1]");
  ExpectRefused("inspect half.safetensors", "half.safetensors");
  ExpectRefused("inspect half.graph.json", "half.graph.json:");
  ExpectRefused("place --graph g.graph.json --devices d.yaml --policy half.safetensors", "half.safetensors");
  ExpectRefused("simulate --graph cycle.graph.json --devices d.yaml --placement two.json", "cycle");
  ExpectRefused("simulate --graph g.graph.json --devices bad.yaml --placement two.json", "bad.yaml:2");
  ExpectRefused("simulate --graph g.graph.json --devices d.yaml --placement two.json", "3");
  ExpectRefused("simulate --graph g.graph.json --devices d.yaml --placement three.json", "'c'");
  ExpectRefused("simulate --graph none.graph.json --devices d.yaml --placement two.json", "none.graph.json");
}

TEST_F(CliTest, FileNamesMayHoldAnyBytes) {
  // A graph without a name is called like its file.
  const std::string file = "caf\xe9.graph.json";
  std::string text = kGraph;
  text.erase(text.find(R"("name": "tiny", )"), std::string(R"("name": "tiny", )").size());
  Write(file, text);
  const auto name_in = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  };
  const std::string shown = "caf\xef\xbf\xbd.graph.json";
  EXPECT_EQ(name_in(Emplace("place --json --budget 1 --devices d.yaml --graph " + file))["graph"], shown);
  EXPECT_EQ(name_in(Emplace("inspect --json " + file))["name"], shown);
  EXPECT_EQ(name_in(Emplace("evaluate --json --methods single --devices d.yaml --graphs " + file))["results"].size(),
            1U);
  Write("c.csv", "type,shapes,kind,us\naten.mm,,k80,7\n");
  EXPECT_EQ(Emplace("costs --costs c.csv --out o.graph.json --graph " + file).exit_code, 0);
  EXPECT_EQ(Json::parse(ReadFile(folder_ / "o.graph.json"))["name"], shown);
}

TEST_F(CliTest, PathsThatCannotBeFollowedGiveOneLine) {
  fs::create_symlink("circle", folder_ / "circle");
  for (const std::string& path : {std::string("circle"), std::string(300, 'a'), std::string("circle/x")}) {
    ExpectRefused("inspect " + path, path);
    ExpectRefused("evaluate --devices d.yaml --methods single --graphs " + path, path);
    ExpectRefused("place --graph g.graph.json --devices d.yaml --budget 1 --policy " + path, path);
    ExpectRefused("report --out r.html " + path, path);
    ExpectRefused("export " + path, path);
    ExpectRefused("keygen " + path, path);
  }
}

TEST_F(CliTest, KeygenMakesKeysOnceAndShowsNone) {
  const Outcome made = Emplace("keygen keys --actors 2");
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const LearnerKeys learner = LoadLearnerKeys(folder_ / "keys" / "learner.keys");
  const ActorKeys actor = LoadActorKeys(folder_ / "keys" / "actor-1.keys");
  EXPECT_EQ(learner.actors.at(1), actor.public_key);
  EXPECT_THAT(made.out,
              AllOf(HasSubstr("network.keys=keys/learner.keys"), HasSubstr("EMPLACE_KEYS=keys/actor-1.keys")));
  EXPECT_THAT(made.out, AllOf(Not(HasSubstr(learner.secret_key)), Not(HasSubstr(actor.secret_key))));
  const Outcome of_learner = Emplace("inspect keys/learner.keys");
  EXPECT_THAT(of_learner.out, AllOf(HasSubstr(learner.public_key), Not(HasSubstr(learner.secret_key))));
  const Outcome of_actors = Emplace("inspect keys/actor-1.keys");
  EXPECT_THAT(of_actors.out, AllOf(HasSubstr(actor.public_key), Not(HasSubstr(actor.secret_key))));
  ExpectRefused("keygen keys", "keys/learner.keys: the file exists already");
  EXPECT_EQ(Emplace("keygen keys --actors 3 --add").exit_code, 0);
  EXPECT_EQ(LoadLearnerKeys(folder_ / "keys" / "learner.keys").actors.size(), 3U);
  EXPECT_EQ(LoadActorKeys(folder_ / "keys" / "actor-1.keys").secret_key, actor.secret_key);
  ExpectRefused("keygen more --actors 0", "--actors");
}

TEST_F(CliTest, NoCommandWritesOverWhatItReads) {
  Write("p.json", "[0, 1, 1]");
  Write("t.csv", "type,shapes,kind,us\naten.mm,,k80,30\n");
  fs::create_directories(folder_ / "graphs");
  Write("graphs/g.graph.json", kGraph);
  Write("graphs/split.json", R"({"train": ["g.graph.json"], "test": ["g.graph.json"]})");
  const Outcome evaluated = Emplace("evaluate --graphs g.graph.json --devices d.yaml --methods single --json");
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  Write("r.json", evaluated.out);
  const std::vector<std::string> inputs = {
      "g.graph.json", "graphs/g.graph.json", "graphs/split.json", "d.yaml", "p.json", "p.safetensors", "t.csv",
      "r.json"};
  std::map<std::string, std::string> before;
  for (const std::string& input : inputs) before[input] = ReadFile(folder_ / input);

  const std::string tiny = " --graph g.graph.json --devices d.yaml ";
  const std::string place = "place --budget 1 --policy p.safetensors" + tiny;
  ExpectRefused(place + "--out ./g.graph.json",
                "--out is './g.graph.json', which belongs to --graph, expected another file");
  ExpectRefused(place + "--out graphs/../d.yaml", "--out is 'graphs/../d.yaml', which belongs to --devices");
  ExpectRefused(place + "--trace d.yaml", "--trace is 'd.yaml', which belongs to --devices");
  ExpectRefused(place + "--out p.safetensors", "which belongs to --policy");
  ExpectRefused(place + "--out new.json --trace ./new.json", "--trace is './new.json', which belongs to --out");
  EXPECT_FALSE(fs::exists(folder_ / "new.json"));
  for (const std::string input : {"g.graph.json", "d.yaml", "p.json"}) {
    ExpectRefused(StrCat("simulate", tiny, "--placement p.json --trace ", input), StrCat("--trace is '", input, "'"));
  }
  const std::string evaluate = "evaluate --methods single --devices d.yaml --policy p.safetensors --graphs graphs ";
  ExpectRefused(evaluate + "--out d.yaml", "which belongs to --devices");
  ExpectRefused(evaluate + "--out p.safetensors", "which belongs to --policy");
  ExpectRefused(evaluate + "--out graphs/g.graph.json", "which belongs to --graphs");
  ExpectRefused(evaluate + "--split train --out graphs/split.json", "which belongs to --graphs");
  ExpectRefused("costs --costs t.csv --graph g.graph.json --out ./t.csv", "which belongs to --costs");
  const std::string report = "report r.json --placement p.json" + tiny;
  ExpectRefused(report + "--out ./r.json", "--out is './r.json', which belongs to source 'r.json'");
  for (const std::string input : {"g.graph.json", "d.yaml", "p.json"}) {
    ExpectRefused(StrCat(report, "--out ", input), StrCat("--out is '", input, "'"));
  }
  for (const auto& [input, text] : before) EXPECT_EQ(ReadFile(folder_ / input), text) << input;

  // Costs may go into the graph itself, and results on into their file.
  EXPECT_EQ(Emplace("costs --costs t.csv --graph g.graph.json --out g.graph.json").exit_code, 0);
  EXPECT_NE(ReadFile(folder_ / "g.graph.json"), before["g.graph.json"]);
  EXPECT_EQ(Emplace(evaluate + "--out graphs/new.json").exit_code, 0);
  EXPECT_EQ(Emplace(evaluate + "--out graphs/new.json --resume").exit_code, 0);
}

TEST_F(CliTest, TellsItsVersion) {
  const Outcome outcome = Emplace("--version");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, testing::StartsWith("emplace "));
}

TEST_F(CliTest, BadUsageGivesOneLine) {
  ExpectRefused("", "subcommand");
  ExpectRefused("imports", "there is no subcommand 'imports', expected one of: generate, simulate");
  ExpectRefused("import torch", "'import' is in the Python package");
  ExpectRefused("place --graph g.graph.json", "--devices");
  ExpectRefused("place --graph g.graph.json --devices d.yaml --method policy --policy none",
                "method 'policy' has no policy");
  ExpectRefused("place --graph g.graph.json --devices d.yaml --seconds 0", "--seconds");
  ExpectRefused("place --graph g.graph.json --devices d.yaml --budget 0", "--budget");
  ExpectRefused("place --graph g.graph.json --devices d.yaml --method magic", "magic");
  ExpectRefused("place --graph g.graph.json --devices d.yaml --seconds nan", "--seconds: Value nan");
  ExpectRefused("evaluate --graphs g.graph.json --devices d.yaml --methods single --seconds nan", "--seconds");
  for (const std::string seed : {"-1", "18446744073709551616", "1.5"}) {
    ExpectRefused("place --graph g.graph.json --devices d.yaml --budget 1 --seed " + seed, "--seed: Value " + seed);
    ExpectRefused("evaluate --graphs g.graph.json --devices d.yaml --methods single --seeds 1," + seed, seed);
    ExpectRefused("generate ptb --size small --count 1 --out x --seed " + seed, "--seed");
  }
  ExpectRefused("evaluate --graphs g.graph.json --devices d.yaml --methods single --budget 0", "--budget");
  ExpectRefused("evaluate --graphs nowhere --devices d.yaml --methods single", "nowhere");
  ExpectRefused("generate cifar --out x", "cifar");
  ExpectRefused("generate ptb --out x --count 0", "count");
}

}  // namespace
}  // namespace emplace
