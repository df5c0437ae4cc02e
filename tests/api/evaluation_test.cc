#include "api/evaluation/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "api/evaluation/results_file.h"
#include "api/evaluation/summary.h"
#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "simulator/graph/graph_io.h"
#include "tests/support/random_graph.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

RunResult Result(const std::string& graph, const std::string& method, uint64_t seed, double makespan_us,
                 bool feasible = true) {
  RunResult result;
  result.key = {graph + ".graph.json", method, seed};
  result.graph = graph;
  result.score = {.makespan_us = makespan_us, .peak_bytes = {1, 2}, .feasible = feasible};
  result.placed_us = makespan_us;
  result.placed_feasible = feasible;
  result.evaluations = 3;
  result.seconds = 0.5;
  result.single_device_us = 100;
  return result;
}

TEST(Summary, CountsWinsByGraphAndAveragesBySeed) {
  const std::vector<RunResult> results = {Result("a", "x", 1, 50),       Result("a", "x", 2, 200),
                                          Result("a", "y", 1, 90),  // x: mean of logs 100; y wins.
                                          Result("b", "x", 1, 50),       Result("b", "x", 2, 50),
                                          Result("b", "y", 1, 40, false)};  // What does not fit cannot win.
  const std::vector<MethodSummary> summaries = Summarize(results, {"x", "y", "z"});
  EXPECT_EQ(summaries[0].graphs, 2);
  EXPECT_EQ(summaries[0].runs, 4);
  EXPECT_EQ(summaries[0].feasible, 4);
  EXPECT_EQ(summaries[0].wins, 1);
  EXPECT_EQ(summaries[0].evaluations, 12);
  // Seed 1: sqrt(0.5 * 0.5) = 0.5; seed 2: sqrt(2 * 0.5) = 1.
  EXPECT_DOUBLE_EQ(summaries[0].ratio.mean, 0.75);
  EXPECT_EQ(summaries[1].wins, 1);
  EXPECT_EQ(summaries[1].feasible, 1);
  EXPECT_DOUBLE_EQ(summaries[1].ratio.mean, std::sqrt(0.9 * 0.4));
  EXPECT_EQ(summaries[2].runs, 0);
  EXPECT_TRUE(std::isnan(summaries[2].ratio.mean));
}

TEST(Summary, ShowsAPolicyAlsoAsItIsHandedOut) {
  std::vector<RunResult> results = {Result("a", "single", 1, 100), Result("a", "policy", 1, 50),
                                    Result("a", "heft", 1, 80),    Result("b", "single", 1, 100),
                                    Result("b", "policy", 1, 400), Result("b", "heft", 1, 100)};
  results[4].placed_us = 100;  // One device is faster.
  const std::vector<MethodSummary> summaries = Summarize(results, {"single", "policy", "heft"});
  ASSERT_EQ(summaries.size(), 4U);
  EXPECT_EQ(summaries[1].method, "policy");
  EXPECT_DOUBLE_EQ(summaries[1].ratio.mean, std::sqrt(0.5 * 4));
  EXPECT_EQ(summaries[1].wins, 1);
  EXPECT_EQ(summaries[2].method, kPolicyOrSingle);
  EXPECT_EQ(summaries[2].runs, 2);
  EXPECT_DOUBLE_EQ(summaries[2].ratio.mean, std::sqrt(0.5 * 1));
  EXPECT_EQ(summaries[2].wins, 2);
  EXPECT_EQ(summaries[3].method, "heft");
  EXPECT_EQ(summaries[3].wins, 1);
}

class EvaluationTest : public ::testing::Test {
 protected:
  EvaluationTest() : folder_(fs::temp_directory_path() / ("emplace_evaluation_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    Rng rng(5);
    plan_.cluster.devices = {{"d:0", "x", 1000000}, {"d:1", "x", 1000000}};
    plan_.cluster.bandwidth_bytes_per_us = 10;
    for (int i = 0; i < 4; ++i) {
      std::vector<Op> ops;
      const OpGraph random = RandomGraph(rng);
      for (const Op& op : random.ops()) {
        ops.push_back(op);
        ops.back().cost = OpCost::Everywhere(static_cast<double>(rng.UniformInt(1, 50)));
        ops.back().allowed.clear();
        ops.back().group.clear();
      }
      plan_.graphs.push_back(folder_ / ("g" + std::to_string(i) + ".graph.json"));
      WriteFileAtomically(plan_.graphs.back(), GraphToJson(OpGraph("g" + std::to_string(i), std::move(ops))));
    }
    plan_.methods = {"single", "random", "heft", "annealing"};
    plan_.seeds = {1, 2, 3};
    plan_.options.budget = 50;
  }
  ~EvaluationTest() override { fs::remove_all(folder_); }

  std::vector<RunResult> Run(const std::vector<RunKey>& keys, int jobs) {
    std::vector<RunResult> results;
    const std::atomic<bool> stop = false;
    RunEvaluation(
        plan_, keys, jobs, [&](const RunResult& result) { results.push_back(result); }, stop);
    std::sort(results.begin(), results.end(), [](const RunResult& a, const RunResult& b) { return a.key < b.key; });
    return results;
  }

  const fs::path folder_;
  EvaluationPlan plan_;
};

TEST_F(EvaluationTest, RunsWhatDrawsOnceASeedAndTheRestOnce) {
  const std::vector<RunKey> keys = plan_.Keys();
  EXPECT_EQ(keys.size(), 4u * (1 + 3 + 1 + 3));
  EXPECT_EQ(std::set<RunKey>(keys.begin(), keys.end()).size(), keys.size());
  EXPECT_EQ(Run(keys, 2).size(), keys.size());
}

TEST_F(EvaluationTest, IsTheSameOnOneThreadAndOnFour) {
  const std::vector<RunResult> one = Run(plan_.Keys(), 1);
  const std::vector<RunResult> four = Run(plan_.Keys(), 4);
  ASSERT_EQ(one.size(), four.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].key, four[i].key);
    EXPECT_EQ(one[i].score.makespan_us, four[i].score.makespan_us);
    EXPECT_EQ(one[i].evaluations, four[i].evaluations);
  }
}

TEST_F(EvaluationTest, StopsWhenToldAndKeepsWhatItHas) {
  std::atomic<bool> stop = false;
  int done = 0;
  RunEvaluation(
      plan_, plan_.Keys(), 1, [&](const RunResult&) { stop = ++done == 3; }, stop);
  EXPECT_EQ(done, 3);
}

TEST_F(EvaluationTest, ARunThatFailsEndsItWithItsReason) {
  WriteFileAtomically(plan_.graphs[2], "{}");
  EXPECT_THROW(Run(plan_.Keys(), 2), Error);
}

TEST_F(EvaluationTest, GraphsOfOneNameKeepTheirOwnRatios) {
  std::vector<RunResult> results(2);
  for (size_t i = 0; i < 2; ++i) {
    results[i].key = {.path = StrCat("g", i), .method = "single", .seed = 1};
    results[i].graph = "g";
    results[i].single_device_us = 10.0 * static_cast<double>(i + 1);
  }
  const auto settings = SettingsOf(plan_, "");
  const fs::path file = folder_ / "results.json";
  auto document = ToDocument(results, {}, settings);
  WriteFileAtomically(file, document.dump());
  EXPECT_EQ(LoadResults(file, settings)[0].single_device_us, 10);
  EXPECT_EQ(LoadResults(file, settings)[1].single_device_us, 20);
  for (auto& row : document["results"]) row.erase("single_device_us");  // As files were.
  WriteFileAtomically(file, document.dump());
  EXPECT_EQ(LoadResults(file, settings)[0].single_device_us, 20);
}

TEST_F(EvaluationTest, ResultsReadBackUnderTheSameSettingsOnly) {
  plan_.cluster.devices[1].memory_bytes = 1;  // Some placements do not fit.
  const std::vector<RunResult> results = Run(plan_.Keys(), 2);
  const auto settings = SettingsOf(plan_, "");
  const fs::path file = folder_ / "results.json";
  WriteFileAtomically(file, ToDocument(results, Summarize(results, plan_.methods), settings).dump());
  const std::vector<RunResult> again = LoadResults(file, settings);
  ASSERT_EQ(again.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(again[i].key, results[i].key);
    EXPECT_EQ(again[i].score.makespan_us, results[i].score.makespan_us);
    EXPECT_EQ(again[i].score.max_load_us, results[i].score.max_load_us);
    EXPECT_EQ(again[i].score.peak_bytes, results[i].score.peak_bytes);
    EXPECT_EQ(again[i].score.feasible, results[i].score.feasible);
    EXPECT_EQ(again[i].single_device_us, results[i].single_device_us);
  }
  const auto complaint = [&](const nlohmann::ordered_json& wanted) -> std::string {
    try {
      LoadResults(file, wanted);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  plan_.options.budget = 51;
  EXPECT_THAT(complaint(SettingsOf(plan_, "")), HasSubstr("another 'budget', expected 51, it says 50"));
  plan_.options.budget = 50;
  plan_.options.orders = false;
  EXPECT_THAT(complaint(SettingsOf(plan_, "")), HasSubstr("another 'order', expected \"none\", it says \"\""));
  plan_.options.order = "rank";
  EXPECT_THAT(complaint(SettingsOf(plan_, "")), HasSubstr("another 'order', expected \"rank\", it says \"\""));
  plan_.options.order = "";
  plan_.options.orders = true;
  plan_.policy_hash = "0123456789abcdef";
  EXPECT_THAT(complaint(SettingsOf(plan_, "")), HasSubstr("another 'policy_hash', expected \"0123456789abcdef\""));
  plan_.policy_hash = "";
  plan_.cluster.devices[1].memory_bytes = 7;  // Of all the cluster's lines, that of this device is shown.
  EXPECT_THAT(complaint(SettingsOf(plan_, "")),
              AllOf(HasSubstr("another 'devices'"), HasSubstr("memory_bytes: 7"), HasSubstr("memory_bytes: 1")));
  const std::string graph = ReadFile(plan_.graphs[1]);
  WriteFileAtomically(plan_.graphs[1], graph + "\n");
  EXPECT_THAT(complaint(settings), HasSubstr(plan_.graphs[1].string() + "' as it was before it was changed"));
  WriteFileAtomically(plan_.graphs[1], graph);
  EXPECT_THAT(complaint(settings), "");
  WriteFileAtomically(file, "{\"results\": [");
  EXPECT_THAT(complaint(settings), HasSubstr("results.json:1:"));
  WriteFileAtomically(file, "{\"results\": []}");
  EXPECT_THAT(complaint(settings), HasSubstr("holds no results of an evaluation, expected"));
}

}  // namespace
}  // namespace emplace
