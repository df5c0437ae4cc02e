#include "learner/report/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/files/file_io.h"
#include "common/rng.h"
#include "common/strings.h"
#include "tests/support/trials.h"

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

TEST(Metrics, TheMoreUpdatesThereAreTheFewerHaveLines) {
  int64_t lines = 0;
  for (int64_t update = 1; update <= 100'000; ++update) lines += HasLine(update) ? 1 : 0;
  EXPECT_EQ(lines, 100'000);
  EXPECT_FALSE(HasLine(100'001));
  EXPECT_TRUE(HasLine(100'010));
  for (int64_t update = 100'001; update <= 10'000'000; ++update) lines += HasLine(update) ? 1 : 0;
  EXPECT_EQ(lines, 100'000 + 90'000 + 90'000);
  EXPECT_TRUE(HasLine(1'000'000'000'000'000'000));
  EXPECT_FALSE(HasLine(std::numeric_limits<int64_t>::max()));
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

// As a run writes them: an evaluation's line comes some time after the line of its update, or, in lockstep, right
// before it. What is kept is compared with a look at every line.
TEST_F(MetricsTest, AResumedRunKeepsJustWhatItHadThen) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    std::vector<std::pair<std::string, int64_t>> written;
    int64_t update = 0;
    std::vector<int64_t> evaluations;
    while (written.size() < 60) {
      const bool lockstep = rng.UniformInt(0, 3) == 0;
      ++update;
      if (lockstep) written.emplace_back("evaluation", update);
      written.emplace_back("update", update);
      if (!lockstep && rng.UniformInt(0, 3) == 0) evaluations.push_back(update);
      while (!evaluations.empty() && rng.UniformInt(0, 1) == 0) {
        written.emplace_back("evaluation", evaluations.front());
        evaluations.erase(evaluations.begin());
      }
    }
    const int64_t checkpoint = rng.UniformInt(0, update + 1);
    fs::remove_all(folder_ / "metrics.jsonl");
    {
      Metrics metrics(folder_, 0);
      for (const auto& [kind, of] : written) metrics.Write(kind, of, 0, {{"x", 1.0 / 3}});
    }
    if (rng.UniformInt(0, 1) == 0) std::ofstream(folder_ / "metrics.jsonl", std::ios::app) << "{\"kind\":\"upd";
    const Metrics resumed(folder_, checkpoint);
    std::vector<std::pair<std::string, int64_t>> kept;
    for (const nlohmann::json& line : Lines()) kept.emplace_back(line.at("kind"), line.at("update"));
    if (checkpoint == 0) written.clear();
    std::erase_if(written, [&](const auto& line) { return line.second > checkpoint; });
    ASSERT_EQ(kept, written) << "seed " << seed << ", after update " << checkpoint;
  }
}

}  // namespace
}  // namespace emplace
