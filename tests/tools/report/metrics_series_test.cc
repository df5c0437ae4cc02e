#include "tools/report/metrics_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/error.h"
#include "common/files/file_io.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string MetricsError(std::string_view text) {
  return BadInputOf([&] { ParseMetrics(text, "m.jsonl", 10); }, "m.jsonl:");
}

constexpr size_t kReceive = 0, kBatch = 2, kUpdate = 3;  // Of metrics::kStages.

// What the learner writes (tests/golden) has every number that a report draws.
TEST(MetricsSeries, NothingIsMissingFromWhatTheLearnerWrote) {
  const MetricsSeries series = ParseMetrics(ReadFile(EMPLACE_GOLDEN_METRICS), "metrics.jsonl", 10);
  const auto expect_numbers = [](const std::vector<double>& values, size_t size, const char* name) {
    EXPECT_EQ(values.size(), size) << name;
    for (const double value : values) EXPECT_TRUE(std::isfinite(value)) << name;
  };
  const EvaluationSeries& evaluations = series.evaluations;
  ASSERT_GE(evaluations.update.size(), 3U);
  expect_numbers(evaluations.seconds, evaluations.update.size(), "seconds");
  expect_numbers(evaluations.validation_ratio, evaluations.update.size(), "validation_ratio");
  expect_numbers(evaluations.test_ratio, evaluations.update.size(), "test_ratio");
  const UpdateSeries& updates = series.updates;
  ASSERT_EQ(updates.update.size(), 10U);
  expect_numbers(updates.seconds, 10, "seconds");
  expect_numbers(updates.mean_ratio, 10, "mean_ratio");
  expect_numbers(updates.best_ratio, 10, "best_ratio");
  expect_numbers(updates.min_lag, 10, "min_lag");
  expect_numbers(updates.mean_lag, 10, "mean_lag");
  expect_numbers(updates.max_lag, 10, "max_lag");
  expect_numbers(updates.episodes_per_s, 10, "episodes_per_s");
  expect_numbers(updates.steps_per_s, 10, "steps_per_s");
  expect_numbers(updates.blocked_share, 10, "blocked_share");
  for (size_t stage = 0; stage < metrics::kStages.size(); ++stage) {
    expect_numbers(updates.busy_share[stage], 10, metrics::kStages[stage]);
    for (const double share : updates.busy_share[stage])
      EXPECT_TRUE(share >= 0 && share <= 1) << metrics::kStages[stage];
  }
  EXPECT_GT(updates.busy_share[kUpdate][5], 0);
}

TEST(MetricsSeries, TakesEvaluationsAsTheyAre) {
  const MetricsSeries series = ParseMetrics(
      R"({"kind":"evaluation","update":0,"seconds":0.5,"validation_ratio":1.0,"test_ratio":0.9}
{"kind":"evaluation","update":25,"seconds":8,"validation_ratio":null,"test_ratio":0.8}
)",
      "m", 10);
  EXPECT_THAT(series.evaluations.update, ElementsAre(0, 25));
  EXPECT_THAT(series.evaluations.seconds, ElementsAre(0.5, 8));
  EXPECT_THAT(series.evaluations.test_ratio, ElementsAre(0.9, 0.8));
  EXPECT_TRUE(std::isnan(series.evaluations.validation_ratio[1]));
  EXPECT_TRUE(series.updates.update.empty());
}

TEST(MetricsSeries, SumsUpdatesUpByBucket) {
  // Four updates in two buckets. First: 8 episodes in 4 s; updating for 3 s. Second: 24 - 8 = 16 in 2 s.
  const MetricsSeries series = ParseMetrics(
      R"({"kind":"update","update":1,"seconds":2,"mean_ratio":1.0,"best_ratio":0.9,"min_lag":1,"mean_lag":1,"max_lag":2,"episodes":4,"steps":40,"blocked_s":0,"receive_busy_s":0,"update_busy_s":1.5}
{"kind":"update","update":2,"seconds":4,"mean_ratio":0.8,"best_ratio":0.7,"min_lag":0,"mean_lag":2,"max_lag":3,"episodes":8,"steps":80,"blocked_s":1,"receive_busy_s":1,"update_busy_s":1.5}
{"kind":"update","update":3,"seconds":5,"episodes":16,"steps":160}
{"kind":"update","update":4,"seconds":6,"episodes":24,"steps":240}
)",
      "m", 2);
  const UpdateSeries& updates = series.updates;
  EXPECT_THAT(updates.update, ElementsAre(2, 4));
  EXPECT_THAT(updates.seconds, ElementsAre(4, 6));
  EXPECT_DOUBLE_EQ(updates.mean_ratio[0], 0.9);
  EXPECT_DOUBLE_EQ(updates.best_ratio[0], 0.7);
  EXPECT_DOUBLE_EQ(updates.min_lag[0], 0);
  EXPECT_DOUBLE_EQ(updates.mean_lag[0], 1.5);
  EXPECT_DOUBLE_EQ(updates.max_lag[0], 3);
  EXPECT_THAT(updates.episodes_per_s, ElementsAre(2, 8));
  EXPECT_THAT(updates.steps_per_s, ElementsAre(20, 80));
  EXPECT_DOUBLE_EQ(updates.busy_share[kReceive][0], 0.25);
  EXPECT_DOUBLE_EQ(updates.busy_share[kUpdate][0], 0.75);
  EXPECT_TRUE(std::isnan(updates.busy_share[kBatch][0]));
  EXPECT_DOUBLE_EQ(updates.blocked_share[0], 0.25);
  EXPECT_TRUE(std::isnan(updates.mean_ratio[1]));
  EXPECT_TRUE(std::isnan(updates.busy_share[kUpdate][1]));
}

TEST(MetricsSeries, TellsOfMeasuredRewardsFromWhereTheyBegin) {
  const MetricsSeries series = ParseMetrics(
      R"({"kind":"update","update":1,"seconds":1}
{"kind":"update","update":2,"seconds":3,"measured_episodes":4,"measured_ratio":0.8,"window_s":1}
{"kind":"update","update":3,"seconds":5,"measured_episodes":0,"measured_ratio":null,"window_s":1.5}
)",
      "m", 10);
  const UpdateSeries& updates = series.updates;
  EXPECT_TRUE(std::isnan(updates.measured_episodes_per_s[0]) && std::isnan(updates.window_share[0]));
  EXPECT_EQ(updates.measured_episodes_per_s[1], 2);
  EXPECT_EQ(updates.measured_episodes_per_s[2], 0);
  EXPECT_EQ(updates.window_share[1], 0.5);
  EXPECT_EQ(updates.window_share[2], 0.25);
  EXPECT_EQ(updates.measured_ratio[1], 0.8);
  EXPECT_TRUE(std::isnan(updates.measured_ratio[2]));
}

// Its clock is read a moment before that of training, so that of a short time there may seem to be more than all.
TEST(MetricsSeries, TheQueueIsFullForAllOfTheTimeAtMost) {
  const MetricsSeries series = ParseMetrics(
      "{\"kind\":\"update\",\"update\":1,\"seconds\":1,\"blocked_s\":0.25}\n"
      "{\"kind\":\"update\",\"update\":2,\"seconds\":1.5,\"blocked_s\":0.8125}\n",
      "m", 10);
  EXPECT_THAT(series.updates.blocked_share, ElementsAre(0.25, 1));
}

TEST(MetricsSeries, CountersStartAgainWhenARunGoesOn) {
  const MetricsSeries series = ParseMetrics(
      "{\"kind\":\"update\",\"update\":1,\"seconds\":1,\"episodes\":10}\n"
      "{\"kind\":\"update\",\"update\":2,\"seconds\":2,\"episodes\":4}\n",  // The second sitting: 4, not -6.
      "m", 10);
  EXPECT_THAT(series.updates.episodes_per_s, ElementsAre(10, 4));
}

TEST(MetricsSeries, OtherKindsAndAnUnfinishedLastLineAreLeftOut) {
  const MetricsSeries series =
      ParseMetrics("{\"kind\":\"later\"}\n{\"kind\":\"update\",\"update\":1,\"seconds\":1}\n{\"kind\":\"upd", "m", 10);
  EXPECT_THAT(series.updates.update, ElementsAre(1));
}

TEST(MetricsSeries, ADamagedLineIsNamed) {
  constexpr char kGood[] = "{\"kind\":\"update\",\"update\":1,\"seconds\":1}\n";
  EXPECT_EQ(MetricsError(std::string(kGood) + "{\"kind\":\"upd\n" + kGood),
            "m.jsonl:2: damaged, expected a JSON object");
  EXPECT_EQ(MetricsError("[1]\n"), "m.jsonl:1: damaged, expected a JSON object");
  EXPECT_EQ(MetricsError("{}\n"), "m.jsonl:1: 'kind' is missing");
  EXPECT_THAT(MetricsError("{\"kind\":3}\n"), HasSubstr("'kind' is 3"));
  EXPECT_EQ(MetricsError("{\"kind\":\"update\",\"update\":1}\n"), "m.jsonl:1: 'seconds' is missing, expected a number");
  EXPECT_EQ(MetricsError("{\"kind\":\"update\",\"update\":1,\"seconds\":1,\"max_lag\":\"x\"}\n"),
            "m.jsonl:1: 'max_lag' is \"x\", expected a number");
}

}  // namespace
}  // namespace emplace
