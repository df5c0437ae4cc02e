// `emplace evaluate` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/tiny_graph.h"

namespace emplace {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

using EvaluateCommand = TinyGraphFolder;

TEST_F(EvaluateCommand, EvaluatePrintsTheDocumentedJson) {
  const Outcome outcome = Emplace(
      "evaluate --graphs g.graph.json --devices d.yaml --policy p.safetensors --methods single,random,policy --budget "
      "50 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json printed = Json::parse(outcome.out);
  ASSERT_EQ(printed["results"].size(), 3u);
  for (const char* key : {"graph", "method", "makespan_us", "peak_bytes", "feasible", "evaluations", "seconds"}) {
    for (const Json& result : printed["results"]) EXPECT_TRUE(result.contains(key)) << key;
  }
  EXPECT_EQ(printed["results"][0]["makespan_us"], 35.0);  // single: 10 + 20 + 5 one after the other
  EXPECT_EQ(printed["results"][1]["method"], "random");
  EXPECT_EQ(printed["results"][1]["evaluations"], 50);
  EXPECT_TRUE(printed["summary"].contains("policy"));
}

TEST_F(EvaluateCommand, EvaluateTakesFoldersAndSplits) {
  const Outcome generated = Emplace("generate ptb --out ptb --count 4 --size small");
  ASSERT_EQ(generated.exit_code, 0) << generated.err;
  const Outcome all = Emplace("evaluate --graphs ptb --devices d.yaml --methods single --json");
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(Json::parse(all.out)["results"].size(), 4u);
  const Outcome train = Emplace("evaluate --graphs ptb --split train --devices d.yaml --methods single --json");
  const Outcome test = Emplace("evaluate --graphs ptb --split test --devices d.yaml --methods single --json");
  EXPECT_EQ(Json::parse(train.out)["results"].size() + Json::parse(test.out)["results"].size(), 4u);
}

TEST_F(EvaluateCommand, EvaluateCountsNothingTwice) {
  const std::string evaluate = "evaluate --devices d.yaml --budget 2 ";
  ExpectRefused(evaluate + "--graphs g.graph.json --methods single,random,single",
                "--methods names method 'single' twice, expected each once");
  ExpectRefused(evaluate + "--graphs g.graph.json --methods random --seeds 1,2,1",
                "--seeds names seed '1' twice, expected each once");
  ExpectRefused(evaluate + "--graphs g.graph.json g.graph.json --methods single",
                "--graphs names graph 'g.graph.json' twice, expected each once");
  ExpectRefused(evaluate + "--graphs g.graph.json ./g.graph.json --methods single",
                "--graphs names graph './g.graph.json' twice, also as 'g.graph.json', expected each once");
  ExpectRefused(evaluate + "--graphs . g.graph.json --methods single", "--graphs names graph 'g.graph.json' twice");
  Write("copy.graph.json", kGraph);  // Equal text is another graph.
  const Outcome both = Emplace(evaluate + "--graphs g.graph.json copy.graph.json --methods random --seeds 1,2 --json");
  ASSERT_EQ(both.exit_code, 0) << both.err;
  EXPECT_EQ(Json::parse(both.out)["results"].size(), 4u);
}

TEST_F(EvaluateCommand, AFileOfResultsLosesNothing) {
  const std::string evaluate = "evaluate --devices d.yaml --budget 2 --graphs g.graph.json --out r.json --methods ";
  ASSERT_EQ(Emplace(evaluate + "single,random").exit_code, 0);
  const std::string before = ReadFile(folder_ / "r.json");
  ExpectRefused(evaluate + "heft --resume", "r.json: has a result of method 'single' with seed 1 on 'g.graph.json'");
  ExpectRefused(evaluate + "single,random --seeds 2 --resume", "which is not asked for");
  Write("broken.graph.json", "{");
  ExpectRefused("evaluate --devices d.yaml --graphs broken.graph.json --out r.json --methods single",
                "broken.graph.json:1:");
  EXPECT_EQ(ReadFile(folder_ / "r.json"), before);
  // What is asked for besides is added.
  ASSERT_EQ(Emplace(evaluate + "single,random,heft --resume").exit_code, 0);
  EXPECT_EQ(Json::parse(ReadFile(folder_ / "r.json"))["results"].size(), 3u);
}

TEST_F(EvaluateCommand, ASplitWithoutGraphsIsRefused) {
  ASSERT_EQ(Emplace("generate inception_v3 --out one").exit_code, 0);
  ExpectRefused("evaluate --graphs one --split test --devices d.yaml --methods single",
                "--graphs one: has no test graphs");
}

// a (10 us) and b (20 us) run side by side, then c (5 us): 25 us, and 20 us where loads are level.
TEST_F(EvaluateCommand, ComparesByTheObjective) {
  const std::string evaluate = "evaluate --graphs g.graph.json --devices d.yaml --methods dp,single,heft ";
  const Outcome throughput = Emplace(evaluate + "--objective throughput --json");
  ASSERT_EQ(throughput.exit_code, 0) << throughput.err;
  const Json printed = Json::parse(throughput.out);
  EXPECT_EQ(printed["results"][0]["max_load_us"], 20.0);
  EXPECT_EQ(printed["results"][0]["placed_us"], 20.0);
  EXPECT_EQ(printed["results"][1]["max_load_us"], 35.0);
  EXPECT_NEAR(printed["summary"]["dp"]["geometric_mean_ratio_to_single"].get<double>(), 20.0 / 35, 1e-12);
  EXPECT_EQ(printed["summary"]["dp"]["wins"], 1);
  EXPECT_THAT(Emplace(evaluate + "--objective throughput").out, HasSubstr("max load ms"));
  ExpectRefused(evaluate + "--objective speed", "speed");
}

// Of two ops of 10 us on one device, one has a reader of 10 us on the other device: it should run first.
TEST_F(EvaluateCommand, GivesAllPlacementsTheOrder) {
  Write("order.graph.json", R"({"format": "emplace.graph/1", "name": "order", "ops": [
    {"name": "late", "cost_us": 10, "allowed": ["x"]},
    {"name": "sends", "cost_us": 10, "allowed": ["x"], "outputs": [{"bytes": 1}]},
    {"name": "reads", "cost_us": 10, "allowed": ["y"], "inputs": ["sends:0"]}]})");
  Write("xy.yaml",
        "devices: [{name: a, kind: x, memory_bytes: 100}, {name: b, kind: y, memory_bytes: 100}]\nop_overhead_us: 0\n"
        "transfer: {bandwidth_bytes_per_us: 1, overhead_us: 0}\n");
  const auto makespan_us = [&](const std::string& order) -> double {
    const Outcome outcome =
        Emplace("evaluate --graphs order.graph.json --devices xy.yaml --methods heft --json " + order);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out)["results"][0]["makespan_us"];
  };
  EXPECT_EQ(makespan_us("--order none"), 31);  // late, sends, 1 us on the link, reads.
  EXPECT_EQ(makespan_us("--order rank"), 21);
  ExpectRefused("evaluate --graphs g.graph.json --devices d.yaml --order fifo", "fifo");
}

}  // namespace
}  // namespace emplace
