#include "learner/intake/batcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "common/rng.h"

namespace emplace {
namespace {

// Episodes that have arrived, and the ledger that knows of them.
class BatcherTest : public testing::Test {
 protected:
  BatcherTest() : actor_(ledger_.Join("a", 1, 1)) {}

  // An episode that `version` played arrives; its ratio is its sequence number.
  void Arrive(PolicyVersion version) {
    Episode episode;
    episode.trajectory.actor = actor_;
    episode.trajectory.sequence = ++sequence_;
    episode.trajectory.policy_version = version;
    episode.ratio = static_cast<double>(sequence_);
    EXPECT_EQ(ledger_.Admit(actor_, sequence_), Ledger::Admission::kNew);
    arrived_.push_back(std::move(episode));
  }

  Batcher Make(const BatchPlan& plan) {
    return Batcher([this](std::chrono::milliseconds) { return Take(); }, plan, ledger_, clock_);
  }

  // Stops whoever asks once there is nothing more.
  std::optional<Episode> Take() {
    if (arrived_.empty()) {
      stop_.request_stop();
      return std::nullopt;
    }
    Episode episode = std::move(arrived_.front());
    arrived_.pop_front();
    return episode;
  }

  std::vector<uint64_t> Sequences(const std::optional<Batch>& batch) {
    std::vector<uint64_t> sequences;
    if (batch) {
      for (const Trajectory& trajectory : batch->trajectories) sequences.push_back(trajectory.sequence);
    }
    return sequences;
  }

  Ledger ledger_;
  StageClock clock_;
  const ActorKey actor_;
  uint64_t sequence_ = 0;
  std::deque<Episode> arrived_;
  std::stop_source stop_;
};

TEST_F(BatcherTest, ABatchIsWhatCameInOrder) {
  Batcher batcher = Make({.first = 7, .end = 100, .episodes = 3, .max_lag = 8});
  for (const PolicyVersion version : {7U, 5U, 6U, 7U, 7U, 7U}) Arrive(version);
  const std::optional<Batch> first = batcher.Next(stop_.get_token());
  EXPECT_EQ(Sequences(first), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(first->version, 7U);
  EXPECT_EQ(first->stats.lag_min, 0);
  EXPECT_EQ(first->stats.lag_max, 2);
  EXPECT_DOUBLE_EQ(first->stats.mean_ratio, 2);
  const std::optional<Batch> second = batcher.Next(stop_.get_token());
  EXPECT_EQ(Sequences(second), (std::vector<uint64_t>{4, 5, 6}));
  EXPECT_EQ(second->version, 8U);  // The update of the first comes before.
  EXPECT_EQ(second->stats.lag_min, 1);
}

TEST_F(BatcherTest, LagIsCountedAgainstTheVersionThatTheBatchMeets) {
  Batcher batcher = Make({.first = 10, .end = 100, .episodes = 2, .max_lag = 2});
  Arrive(10);
  Arrive(8);  // Lags by 2 in the first batch.
  Arrive(10);
  Arrive(8);  // Lags by 3 in the second, though no update has been made yet.
  Arrive(9);
  EXPECT_EQ(Sequences(batcher.Next(stop_.get_token())), (std::vector<uint64_t>{1, 2}));
  const std::optional<Batch> second = batcher.Next(stop_.get_token());
  EXPECT_EQ(Sequences(second), (std::vector<uint64_t>{3, 5}));
  EXPECT_EQ(second->stats.lag_max, 2);
  EXPECT_EQ(ledger_.Total().stale, 1U);
}

TEST_F(BatcherTest, TheNewestVersionThatHasComeIsAlwaysAdmitted) {
  Batcher batcher = Make({.first = 1000, .end = 2000, .episodes = 1, .max_lag = 0});
  Arrive(3);
  Arrive(3);
  Arrive(2);
  Arrive(4);
  for (const uint64_t expected : {1U, 2U, 4U}) {
    EXPECT_EQ(Sequences(batcher.Next(stop_.get_token())), std::vector<uint64_t>{expected});
  }
  EXPECT_EQ(ledger_.Total().stale, 1U);
}

TEST_F(BatcherTest, EndsWithTheLastUpdate) {
  Batcher batcher = Make({.first = 5, .end = 7, .episodes = 1, .max_lag = 8});
  for (int i = 0; i < 5; ++i) Arrive(5);
  EXPECT_EQ(batcher.Next(stop_.get_token())->version, 5U);
  EXPECT_EQ(batcher.Next(stop_.get_token())->version, 6U);
  EXPECT_FALSE(batcher.Next(stop_.get_token()).has_value());
  EXPECT_EQ(arrived_.size(), 3U);  // What no batch is made of is not taken.
  Batcher done = Make({.first = 7, .end = 7, .episodes = 1, .max_lag = 8});
  EXPECT_FALSE(done.Next(stop_.get_token()).has_value());
  EXPECT_EQ(arrived_.size(), 3U);
}

TEST_F(BatcherTest, AnUnfinishedBatchCountsAsStale) {
  Batcher batcher = Make({.first = 5, .end = 100, .episodes = 4, .max_lag = 8});
  for (int i = 0; i < 6; ++i) Arrive(5);
  const std::optional<Batch> whole = batcher.Next(stop_.get_token());
  EXPECT_EQ(Sequences(whole).size(), 4U);
  EXPECT_FALSE(batcher.Next(stop_.get_token()).has_value());
  EXPECT_EQ(ledger_.Total().stale, 2U);
  CountStale(*whole, ledger_);
  EXPECT_EQ(ledger_.Total().stale, 6U);
}

TEST_F(BatcherTest, TheReasonOfItsSourceIsItsOwn) {
  Batcher batcher(
      [](std::chrono::milliseconds) -> std::optional<Episode> { throw std::runtime_error("the network is gone"); },
      {.first = 0, .end = 9, .episodes = 1, .max_lag = 8}, ledger_, clock_);
  EXPECT_THROW(batcher.Next(stop_.get_token()), std::runtime_error);
}

// Against the definition, episode by episode.
TEST_F(BatcherTest, AdmitsWhatTheRuleAdmits) {
  Rng rng(3);
  for (int round = 0; round < 20; ++round) {
    const BatchPlan plan{.first = 20, .end = 60, .episodes = rng.UniformInt(1, 6), .max_lag = rng.UniformInt(0, 5)};
    Batcher batcher = Make(plan);
    const LedgerCounts before = ledger_.Total();
    const uint64_t begin = sequence_;
    std::vector<PolicyVersion> versions;  // [sequence - begin - 1]
    for (int i = 0; i < 200; ++i) {
      const auto newest = std::min<int64_t>(20, 5 + i / 3);
      versions.push_back(static_cast<PolicyVersion>(std::max<int64_t>(0, newest - rng.UniformInt(0, 8))));
      Arrive(versions.back());
    }
    std::vector<std::vector<uint64_t>> expected(1);
    uint64_t stale = 0;
    PolicyVersion newest = 0;
    for (size_t i = 0; i < versions.size(); ++i) {
      if (std::ssize(expected) - 1 == 40) break;
      newest = std::max(newest, versions[i]);
      const auto lag = static_cast<int64_t>(20 + expected.size() - 1 - versions[i]);
      if (lag > plan.max_lag && versions[i] < newest) {
        ++stale;
        continue;
      }
      expected.back().push_back(begin + i + 1);
      if (std::ssize(expected.back()) == plan.episodes) expected.emplace_back();
    }
    std::stop_source stop;
    stop_ = stop;
    for (size_t i = 0; i + 1 < expected.size(); ++i) {
      const std::optional<Batch> batch = batcher.Next(stop_.get_token());
      ASSERT_TRUE(batch.has_value());
      EXPECT_EQ(batch->version, 20 + i);
      EXPECT_EQ(Sequences(batch), expected[i]);
    }
    EXPECT_FALSE(batcher.Next(stop_.get_token()).has_value());
    EXPECT_EQ(ledger_.Total().stale - before.stale, stale + expected.back().size());
    arrived_.clear();
  }
}

}  // namespace
}  // namespace emplace
