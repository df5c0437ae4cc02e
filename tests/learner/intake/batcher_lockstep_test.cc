// The batcher in lockstep.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/rng.h"
#include "learner/intake/batcher.h"

namespace emplace {
namespace {

constexpr int64_t kEpisodesAVersion = 6;
constexpr PolicyVersion kEnd = 20;

// Whatever the order in which episodes come, with copies and leftovers among them: the batches are the same.
TEST(LockstepBatcher, BatchesAreTheEpisodesOfOneVersionInOrder) {
  Rng rng(4);
  for (int round = 0; round < 20; ++round) {
    Ledger ledger;
    StageClock clock;
    const ActorKey actor = ledger.Join("a", 1, 1);
    uint64_t sequence = 0;
    EpisodeDealer dealer(3, kEpisodesAVersion);
    std::vector<Episode> waiting;
    const auto arrive = [&](PolicyVersion version, int64_t index) {
      Episode episode;
      episode.trajectory.actor = actor;
      episode.trajectory.sequence = ++sequence;
      episode.trajectory.policy_version = version;
      episode.trajectory.index = static_cast<uint32_t>(index);
      episode.ratio = static_cast<double>(10 * version) + static_cast<double>(index);
      ASSERT_EQ(ledger.Admit(actor, sequence), Ledger::Admission::kNew);
      waiting.push_back(std::move(episode));
    };
    PolicyVersion version = 3;
    const Batcher::Source source = [&](std::chrono::milliseconds) -> std::optional<Episode> {
      if (waiting.empty()) {
        for (int64_t i = 0; i < kEpisodesAVersion; ++i) arrive(version, i);
        for (int i = 0; i < 3; ++i)
          arrive(version - static_cast<PolicyVersion>(rng.UniformInt(0, 2)), rng.UniformInt(0, kEpisodesAVersion));
      }
      const auto any = waiting.begin() + rng.UniformInt(0, std::ssize(waiting) - 1);
      std::optional<Episode> episode(std::move(*any));
      waiting.erase(any);
      return episode;
    };
    Batcher batcher(source, {.first = 3, .end = kEnd, .episodes = kEpisodesAVersion}, ledger, clock, &dealer);
    for (; version < kEnd; ++version) {
      const std::optional<Batch> batch = batcher.Next({});
      ASSERT_TRUE(batch.has_value());
      EXPECT_EQ(batch->version, version);
      EXPECT_EQ(batch->stats.lag_max, 0);
      EXPECT_EQ(batch->stats.mean_ratio, 10 * static_cast<double>(version) + 2.5);
      ASSERT_EQ(std::ssize(batch->trajectories), kEpisodesAVersion);
      for (int64_t i = 0; i < kEpisodesAVersion; ++i) {
        EXPECT_EQ(batch->trajectories[static_cast<size_t>(i)].index, i);
        EXPECT_EQ(batch->trajectories[static_cast<size_t>(i)].policy_version, version);
        ledger.CountTrained(actor);
      }
    }
    EXPECT_FALSE(batcher.Next({}).has_value());
    const LedgerCounts total = ledger.Total();
    EXPECT_EQ(total.trained + total.stale + waiting.size(), total.produced);
    EXPECT_GT(total.stale, 0U);
  }
}

TEST(LockstepBatcher, AStopLeavesABatchUnmadeAndCountsWhatItHad) {
  Ledger ledger;
  StageClock clock;
  const ActorKey actor = ledger.Join("a", 1, 1);
  EpisodeDealer dealer(0, 2);
  std::stop_source stop;
  const Batcher::Source one = [&](std::chrono::milliseconds) -> std::optional<Episode> {
    EXPECT_EQ(ledger.Admit(actor, 1), Ledger::Admission::kNew);
    stop.request_stop();
    Episode episode;
    episode.trajectory.actor = actor;
    return episode;
  };
  Batcher batcher(one, {.first = 0, .end = 5, .episodes = 2}, ledger, clock, &dealer);
  EXPECT_FALSE(batcher.Next(stop.get_token()).has_value());
  EXPECT_EQ(ledger.Total().stale, 1U);
}

}  // namespace
}  // namespace emplace
