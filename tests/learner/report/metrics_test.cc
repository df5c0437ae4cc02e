#include "learner/report/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/file_io.h"
#include "common/strings.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() : folder_(fs::path(testing::TempDir()) / ("metrics_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~MetricsTest() override { fs::remove_all(folder_); }

  std::vector<nlohmann::json> Lines() const {
    std::vector<nlohmann::json> lines;
    for (const std::string& line : Split(ReadFile(folder_ / "metrics.jsonl"), '\n')) {
      if (!line.empty()) lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }

  const fs::path folder_;
};

TEST_F(MetricsTest, EachCallIsOneObjectALine) {
  Metrics metrics(folder_, 0);
  metrics.Write("update", 1, 0.5, {{"loss", 0.25}, {"best_ratio", std::nan("")}});
  metrics.Write("evaluation", 1, 0.75, {{"test_ratio", 2}});
  const std::vector<nlohmann::json> lines = Lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(
      lines[0],
      (nlohmann::json{{"kind", "update"}, {"update", 1}, {"seconds", 0.5}, {"loss", 0.25}, {"best_ratio", nullptr}}));
  EXPECT_EQ(lines[1].at("test_ratio"), 2);
  ASSERT_FALSE(fs::is_empty(folder_ / "tensorboard"));
  const std::string events = ReadFile(fs::directory_iterator(folder_ / "tensorboard")->path());
  EXPECT_THAT(events, testing::HasSubstr("update/loss"));
  EXPECT_THAT(events, testing::Not(testing::HasSubstr("update/best_ratio")));
}

TEST_F(MetricsTest, AResumedRunForgetsWhatCameAfterItsCheckpoint) {
  {
    Metrics metrics(folder_, 0);
    for (int64_t update = 1; update <= 9; ++update) metrics.Write("update", update, 0, {});
    metrics.Write("evaluation", 5, 0, {});
  }
  // Killed in the middle of a line.
  std::ofstream(folder_ / "metrics.jsonl", std::ios::app) << "{\"kind\":\"upd";
  {
    Metrics metrics(folder_, 5);
    metrics.Write("update", 6, 1, {});
  }
  std::vector<int64_t> updates;
  for (const nlohmann::json& line : Lines()) updates.push_back(line.at("update"));
  EXPECT_THAT(updates, testing::ElementsAre(1, 2, 3, 4, 5, 5, 6));

  Metrics anew(folder_, 0);
  EXPECT_TRUE(Lines().empty());
}

}  // namespace
}  // namespace emplace
