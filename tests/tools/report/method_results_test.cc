#include "tools/report/method_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/error.h"
#include "common/strings.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

std::string Row(const std::string& graph, const std::string& method, const std::string& makespan_us,
                const std::string& feasible = "true") {
  return StrCat(R"({"graph":")", graph, R"(","method":")", method, R"(","makespan_us":)", makespan_us,
                R"(,"peak_bytes":[],"feasible":)", feasible, R"(,"evaluations":3,"seconds":0.5})");
}

EvaluationResults Parse(const std::vector<std::string>& rows, const std::string& more = "") {
  return ParseEvaluation(StrCat("{\"results\":[", Join(rows, ","), "]", more, "}"), "r.json");
}

std::string ResultsError(const std::string& text) {
  return BadInputOf([&] { ParseEvaluation(text, "r.json"); }, "r.json:");
}

void ExpectCdf(const MethodResults& method, const std::vector<std::pair<double, double>>& expected) {
  ASSERT_EQ(method.cdf.size(), expected.size()) << method.method;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_DOUBLE_EQ(method.cdf[i].ratio, expected[i].first) << method.method << " " << i;
    EXPECT_DOUBLE_EQ(method.cdf[i].share, expected[i].second) << method.method << " " << i;
  }
}

TEST(MethodResults, DistributionAndTableByHand) {
  // Ratios of `policy`: 50/100, 80/100, 50/100; the last does not fit, so its graph never counts.
  const EvaluationResults results =
      Parse({Row("a", "single", "100"), Row("b", "single", "100"), Row("c", "single", "100"), Row("a", "policy", "50"),
             Row("b", "policy", "80"), Row("c", "policy", "50", "false")});
  EXPECT_EQ(results.graphs, 3);
  EXPECT_EQ(results.rows_without_single, 0);
  ASSERT_EQ(results.methods.size(), 2u);
  const MethodResults& single = results.methods[0];
  const MethodResults& policy = results.methods[1];
  ExpectCdf(single, {{1.0, 1.0}});
  ExpectCdf(policy, {{0.5, 1.0 / 3}, {0.8, 2.0 / 3}});
  EXPECT_DOUBLE_EQ(policy.geometric_mean_ratio, std::cbrt(0.5 * 0.8 * 0.5));
  EXPECT_EQ(policy.placements, 3);
  EXPECT_EQ(policy.feasible, 2);
  EXPECT_EQ(policy.wins, 2);
  EXPECT_EQ(single.wins, 1);  // On c: what fits beats what does not.
  EXPECT_EQ(policy.evaluations, 9);
  EXPECT_DOUBLE_EQ(policy.seconds, 1.5);
}

TEST(MethodResults, OneDeviceComesFromTheGraphsFirst) {
  const EvaluationResults results =
      Parse({Row("a", "single", "100"), Row("a", "policy", "50"), Row("b", "policy", "50")},
            R"(,"graphs":{"a":{"single_device_us":200}})");
  ExpectCdf(results.methods[0], {{0.5, 1.0}});
  ExpectCdf(results.methods[1], {{0.25, 1.0}});  // Of b nothing is known.
  EXPECT_EQ(results.rows_without_single, 1);
}

TEST(MethodResults, RatiosAreThoseOfEvaluate) {
  // Seed 1: sqrt(0.2 * 0.8) = 0.4, seed 2: 0.9. The mean of both is 0.65, where that of all three rows is 0.52.
  const auto row = [](const std::string& path, const std::string& seed, const std::string& us) {
    return StrCat(R"({"graph":"g","path":")", path, R"(","method":"x","seed":)", seed, R"(,"makespan_us":)", us,
                  R"(,"single_device_us":)", path == "a" ? "100" : "1000",
                  R"(,"feasible":true,"evaluations":3,"seconds":0.5})");
  };
  const EvaluationResults results = Parse({row("a", "1", "20"), row("b", "1", "800"), row("a", "2", "90")},
                                          R"(,"graphs":{"g":{"single_device_us":7}})");
  EXPECT_DOUBLE_EQ(results.methods[0].geometric_mean_ratio, 0.65);
  EXPECT_EQ(results.graphs, 2);  // Of one name.
  EXPECT_EQ(results.methods[0].wins, 2);
}

TEST(MethodResults, OfThroughputTheLoadCounts) {
  const auto row = [](const std::string& method, const std::string& makespan_us, const std::string& load_us) {
    return StrCat(R"({"graph":"g","method":")", method, R"(","makespan_us":)", makespan_us, R"(,"max_load_us":)",
                  load_us, R"(,"feasible":true,"evaluations":3,"seconds":0.5})");
  };
  const EvaluationResults results = Parse({row("single", "100", "100"), row("x", "90", "50"), row("y", "80", "null")},
                                          R"(,"settings":{"objective":"throughput"})");
  EXPECT_EQ(results.objective, Objective::kThroughput);
  ExpectCdf(results.methods[1], {{0.5, 1.0}});
  EXPECT_EQ(results.methods[1].wins, 1);
  EXPECT_TRUE(std::isnan(results.methods[2].geometric_mean_ratio));
  EXPECT_THAT(ResultsError(R"({"results":[],"settings":{"objective":"power"}})"), HasSubstr("power"));
}

TEST(MethodResults, WinsGoByTheMeanOverSeeds) {
  // On `a`: x has sqrt(40 * 90) = 60, y has 50 every time. On `b` they tie.
  const EvaluationResults results = Parse({Row("a", "x", "40"), Row("a", "x", "90"), Row("a", "y", "50"),
                                           Row("a", "y", "50"), Row("b", "x", "30"), Row("b", "y", "30")});
  EXPECT_EQ(results.methods[0].wins, 1);
  EXPECT_EQ(results.methods[1].wins, 2);
}

TEST(MethodResults, WhatHasNoPlacementHasNoRatio) {
  const EvaluationResults results = Parse({Row("a", "single", "100"), Row("a", "x", "null", "false")});
  EXPECT_TRUE(results.methods[1].cdf.empty());
  EXPECT_TRUE(std::isnan(results.methods[1].geometric_mean_ratio));
  EXPECT_EQ(results.methods[1].wins, 0);
}

TEST(MethodResults, WrongFilesSayWhere) {
  EXPECT_THAT(ResultsError("{"), HasSubstr("r.json:1:"));
  EXPECT_THAT(ResultsError("[]"), HasSubstr("r.json: has no list 'results', expected"));
  EXPECT_THAT(ResultsError("{\"results\":[]}"), HasSubstr("r.json: 'results' is empty"));
  EXPECT_THAT(ResultsError("{\"results\":[3]}"), HasSubstr("r.json: results[0]: is 3, expected an object"));
  EXPECT_THAT(ResultsError("{\"results\":[{}]}"), HasSubstr("r.json: results[0]: 'graph' is missing"));
  EXPECT_THAT(ResultsError(StrCat("{\"results\":[", Row("a", "x", "-1"), "]}")),
              HasSubstr("r.json: results[0]: 'makespan_us' is -1, expected a number >= 0"));
  EXPECT_THAT(ResultsError(StrCat("{\"results\":[", Row("a", "x", "1", "1"), "]}")),
              HasSubstr("'feasible' is 1, expected true"));
  EXPECT_THAT(ResultsError(StrCat("{\"results\":[", Row("a", "x", "1"), "],\"graphs\":{\"a\":1}}")),
              HasSubstr("graph 'a' is 1"));
}

}  // namespace
}  // namespace emplace
