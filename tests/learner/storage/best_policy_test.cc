#include "learner/storage/best_policy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "common/files/file_io.h"
#include "common/rng.h"
#include "tests/learner/episodes.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

class BestPolicyTest : public testing::Test {
 protected:
  BestPolicyTest()
      : folder_(fs::path(testing::TempDir()) / ("best_" + std::to_string(::getpid()))), store_(folder_, 3) {
    fs::remove_all(folder_);
  }
  ~BestPolicyTest() override { fs::remove_all(folder_); }

  static EvaluationReport Report(PolicyVersion version, double ratio, int64_t infeasible) {
    EvaluationReport report;
    report.weights = std::make_shared<const PolicyWeights>(SmallPolicy(1, version));
    report.validation.geometric_mean_ratio = ratio;
    report.validation.infeasible = infeasible;
    return report;
  }

  // 0: none is kept.
  PolicyVersion Kept() const {
    const std::optional<PolicyWeights> best = store_.LoadBest();
    return best ? best->version : 0;
  }

  const fs::path folder_;
  const CheckpointStore store_;
};

TEST_F(BestPolicyTest, KeepsTheLowestRatioOfThoseThatFitInMemory) {
  BestPolicy best(store_, false);
  const auto kept_after = [&](PolicyVersion version, double ratio, int64_t infeasible) {
    best.Consider(Report(version, ratio, infeasible));
    return Kept();
  };
  EXPECT_EQ(kept_after(1, std::nan(""), 0), 0U);  // No graph has a ratio.
  EXPECT_EQ(best.ratio(), 0);
  EXPECT_EQ(kept_after(2, 0.9, 2), 2U);
  EXPECT_EQ(kept_after(3, 0.95, 1), 3U);  // Fewer that do not fit, though slower.
  EXPECT_EQ(kept_after(4, 0.1, 2), 3U);
  EXPECT_EQ(kept_after(5, 0.95, 1), 3U);  // No better.
  EXPECT_EQ(kept_after(6, 0.94, 1), 6U);
  EXPECT_EQ(best.ratio(), 0.94);
}

TEST_F(BestPolicyTest, TakesTheLastWhereNothingIsHeldOut) {
  BestPolicy best(store_, true);
  best.Consider(Report(1, 0.7, 0));
  best.Consider(Report(2, 0.9, 1));
  EXPECT_EQ(Kept(), 2U);
  EXPECT_EQ(best.ratio(), 0.9);
}

// It is written at once, and what a checkpoint said of it is older: after a kill a worse one must not take its place.
TEST_F(BestPolicyTest, TheFileItselfSaysHowGoodItIs) {
  {
    BestPolicy best(store_, false);
    best.Consider(Report(1, 0.9, 0));
    best.Consider(Report(2, 0.7, 0));
  }
  BestPolicy resumed(store_, false);
  EXPECT_EQ(resumed.ratio(), 0.7);
  resumed.Consider(Report(3, 0.8, 0));
  EXPECT_EQ(Kept(), 2U);
}

// On a slower machine, on which nothing comes to what it came to on the one before.
TEST_F(BestPolicyTest, IsJudgedAnewUnderOtherConditions) {
  BestPolicy(store_, false).Consider(Report(1, 0.5, 2));
  BestPolicy resumed(store_, false);
  resumed.JudgeAnew([](const PolicyWeights& policy) {
    EXPECT_EQ(policy.version, 1U);
    return EvaluationResult{.ratios = {}, .geometric_mean_ratio = 0.8};
  });
  EXPECT_EQ(resumed.ratio(), 0.8);
  EXPECT_EQ(BestPolicy(store_, false).ratio(), 0.8);
  resumed.Consider(Report(2, 0.9, 0));
  EXPECT_EQ(Kept(), 1U);
  resumed.Consider(Report(3, 0.7, 0));
  EXPECT_EQ(Kept(), 3U);
}

TEST_F(BestPolicyTest, ADamagedOneIsReplaced) {
  BestPolicy(store_, false).Consider(Report(1, 0.5, 0));
  WriteFileAtomically(folder_ / "best" / "policy.safetensors", "damaged");
  BestPolicy resumed(store_, false);
  EXPECT_EQ(resumed.ratio(), 0);
  EXPECT_EQ(Kept(), 0U);
  resumed.Consider(Report(2, 0.9, 0));
  EXPECT_EQ(Kept(), 2U);
}

TEST_F(BestPolicyTest, GoesOnWhereAnEarlierSittingEnded) {
  BestPolicy(store_, false).Consider(Report(7, 0.8, 1));
  BestPolicy best(store_, false);
  best.Consider(Report(8, 0.7, 2));
  EXPECT_EQ(Kept(), 7U);
  best.Consider(Report(9, 0.85, 0));
  EXPECT_EQ(Kept(), 9U);
}

}  // namespace
}  // namespace emplace
