#include "tools/report/anytime_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/strings.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string RunOf(const std::string& graph, double seconds, const std::string& methods) {
  return StrCat(R"({"graph":")", graph, R"(","machine":"two","seconds":)", seconds, R"(,"seed":1,"methods":{)", methods,
                "}}");
}

std::string Found(const std::string& method, const std::string& makespan_us, const std::string& feasible = "true",
                  const std::string& in_time = "true") {
  return StrCat('"', method, R"(":{"makespan_us":)", makespan_us, R"(,"feasible":)", feasible,
                R"(,"evaluations":1,"seconds":1,"in_time":)", in_time, "}");
}

std::string File(const std::vector<std::string>& runs) {
  return StrCat(R"({"format":"emplace.anytime/1","runs":[)", Join(runs, ","), "]}");
}

TEST(AnytimeResults, RatiosByHand) {
  // Best known: 80 on a, found late in the shorter time; 50 on b.
  const AnytimeResults results =
      ParseAnytime(File({RunOf("a", 1, StrCat(Found("auto", "100"), ",", Found("random", "80", "true", "false"))),
                         RunOf("a", 0.1, StrCat(Found("auto", "160"), ",", Found("random", "null", "false"))),
                         RunOf("b", 1, StrCat(Found("auto", "50"), ",", Found("random", "200")))}),
                   "a.json");
  EXPECT_THAT(results.seconds, ElementsAre(0.1, 1));
  EXPECT_EQ(results.pairs, 2);
  ASSERT_EQ(results.methods.size(), 2u);
  const AnytimeMethod& best = results.methods[0];
  EXPECT_EQ(best.method, "auto");
  EXPECT_THAT(best.runs, ElementsAre(1, 2));
  EXPECT_DOUBLE_EQ(best.over_best[0], 2);
  EXPECT_DOUBLE_EQ(best.over_best[1], std::sqrt(100.0 / 80));
  const AnytimeMethod& random = results.methods[1];
  EXPECT_EQ(random.method, "random");
  EXPECT_THAT(random.runs, ElementsAre(0, 1));
  EXPECT_TRUE(std::isnan(random.over_best[0]));
  EXPECT_DOUBLE_EQ(random.over_best[1], 4);
}

TEST(AnytimeResults, IsToldApartFromEvaluations) {
  EXPECT_TRUE(IsAnytime("{\n \"format\": \"emplace.anytime/1\",\n"));
  EXPECT_FALSE(IsAnytime("{\"results\": []}"));
  EXPECT_FALSE(IsAnytime(""));
}

TEST(AnytimeResults, WrongFilesSayWhere) {
  const auto error = [](const std::string& text) {
    return BadInputOf([&] { ParseAnytime(text, "a.json"); }, "a.json:");
  };
  EXPECT_THAT(error("[]"), HasSubstr("is [], expected an object"));
  EXPECT_THAT(error("{}"), HasSubstr("'format' is missing"));
  EXPECT_THAT(error(R"({"format":"emplace.anytime/1"})"), HasSubstr("'runs' is missing"));
  EXPECT_THAT(error(R"({"format":"emplace.anytime/1","runs":{}})"), HasSubstr("expected a list"));
  EXPECT_THAT(error(File({"3"})), HasSubstr("runs[0]: is 3, expected an object"));
  EXPECT_THAT(error(File({RunOf("a", 0, "")})), HasSubstr("runs[0]: 'seconds' is 0, expected more"));
  EXPECT_THAT(error(File({RunOf("a", 1, "\"auto\":1")})),
              HasSubstr("runs[0]: method 'auto': is 1, expected an object"));
  EXPECT_THAT(error(File({RunOf("a", 1, Found("auto", "-1"))})),
              HasSubstr("'makespan_us' is -1, expected a number >= 0"));
  EXPECT_THAT(error(File({RunOf("a", 1, Found("auto", "1", "2"))})),
              HasSubstr("'feasible' is 2, expected true or false"));
}

}  // namespace
}  // namespace emplace
