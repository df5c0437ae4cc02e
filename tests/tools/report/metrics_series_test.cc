#include "tools/report/metrics_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/error.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string MetricsError(std::string_view text) {
  return BadInputOf([&] { ParseMetrics(text, "m.jsonl", 10); }, "m.jsonl:");
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
  // Four updates in two buckets. First: 8 episodes in 4 s; waiting 1 + 1 of 4 s of stages. Second: 24 - 8 = 16 in 2 s.
  const MetricsSeries series = ParseMetrics(
      R"({"kind":"update","update":1,"seconds":2,"mean_ratio":1.0,"best_ratio":0.9,"min_lag":1,"mean_lag":1,"max_lag":2,"episodes":4,"steps":40,"blocked_s":0,"waiting_s":1,"updating_s":1,"other_s":0}
{"kind":"update","update":2,"seconds":4,"mean_ratio":0.8,"best_ratio":0.7,"min_lag":0,"mean_lag":2,"max_lag":3,"episodes":8,"steps":80,"blocked_s":1,"waiting_s":1,"updating_s":0,"other_s":1}
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
  EXPECT_DOUBLE_EQ(updates.waiting_share[0], 0.5);
  EXPECT_DOUBLE_EQ(updates.updating_share[0], 0.25);
  EXPECT_DOUBLE_EQ(updates.other_share[0], 0.25);
  EXPECT_DOUBLE_EQ(updates.blocked_share[0], 0.25);
  EXPECT_TRUE(std::isnan(updates.mean_ratio[1]));
  EXPECT_TRUE(std::isnan(updates.waiting_share[1]));
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
