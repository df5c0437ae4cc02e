#include "learner/pipeline/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <vector>

#include "common/error.h"
#include "common/rng.h"
#include "common/threads/queue.h"
#include "policy/policy_weights.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds kForever(60'000);

// Stages that pass on version numbers: `count` batches, each update raises the version by one.
class PipelineTest : public testing::Test {
 protected:
  Pipeline::Stages Stages(PolicyVersion count) {
    return {.batch = [this, count](const std::stop_token& stop) -> std::optional<Batch> {
              if (made_ == count || stop.stop_requested()) return std::nullopt;
              Batch batch;
              batch.version = made_++;
              return batch;
            },
            .update =
                [this](const Batch& batch) {
                  trained_.push_back(batch.version);
                  PolicyWeights weights;
                  weights.version = batch.version + 1;
                  UpdateResult result;
                  result.weights = std::make_shared<const PolicyWeights>(weights);
                  return result;
                },
            .publish = [this](const UpdateResult& result) { published_.push_back(result.weights->version); },
            .while_idle = [this] { ++idle_; },
            .drop = [this](const Batch&) { ++dropped_; }};
  }

  static std::string ReasonOf(Pipeline& pipeline) {
    EXPECT_TRUE(pipeline.WaitUntilOver(kForever));
    try {
      pipeline.Stop();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 1);
      return error.what();
    }
    return "";
  }

  StageClocks clocks_;
  PolicyVersion made_ = 0;                // Of the batch stage.
  std::vector<PolicyVersion> trained_;    // Of the update stage.
  std::vector<PolicyVersion> published_;  // Of the publish stage.
  std::atomic<int> idle_ = 0;
  std::atomic<int> dropped_ = 0;
};

TEST_F(PipelineTest, EveryBatchIsTrainedAndPublishedInOrder) {
  constexpr PolicyVersion kCount = 500;
  Pipeline pipeline(Stages(kCount), clocks_);
  EXPECT_TRUE(pipeline.WaitUntilOver(kForever));
  pipeline.Stop();
  ASSERT_EQ(trained_.size(), kCount);
  ASSERT_EQ(published_.size(), kCount);
  for (PolicyVersion i = 0; i < kCount; ++i) {
    EXPECT_EQ(trained_[i], i);
    EXPECT_EQ(published_[i], i + 1);
  }
  EXPECT_EQ(dropped_, 0);
}

TEST_F(PipelineTest, WithoutBatchesThereIsNothingToWaitFor) {
  Pipeline pipeline(Stages(0), clocks_);
  EXPECT_TRUE(pipeline.WaitUntilOver(kForever));
  pipeline.Stop();
  EXPECT_TRUE(published_.empty());
}

// Each stage waits in one call until the two others are in one as well: on one thread nobody would ever go on.
TEST_F(PipelineTest, TheStagesOverlap) {
  Pipeline::Stages stages = Stages(3);
  std::latch all_at_work(3);
  stages.batch = [&, batch = stages.batch](const std::stop_token& stop) {
    if (made_ == 2) all_at_work.arrive_and_wait();
    return batch(stop);
  };
  stages.update = [&, update = stages.update](const Batch& batch) {
    if (batch.version == 1) all_at_work.arrive_and_wait();
    return update(batch);
  };
  stages.publish = [&, publish = stages.publish](const UpdateResult& result) {
    if (result.weights->version == 1) all_at_work.arrive_and_wait();
    publish(result);
  };
  Pipeline pipeline(stages, clocks_);
  EXPECT_TRUE(pipeline.WaitUntilOver(kForever));
  pipeline.Stop();
  EXPECT_EQ(published_.size(), 3U);
}

TEST_F(PipelineTest, NoMoreThanOneBatchWaits) {
  std::latch held(1);
  std::atomic<PolicyVersion> begun = 0;
  Pipeline::Stages stages = Stages(50);
  stages.batch = [&, batch = stages.batch](const std::stop_token& stop) {
    ++begun;
    return batch(stop);
  };
  std::atomic<PolicyVersion> most_ahead = 0;
  stages.update = [&, update = stages.update](const Batch& batch) {
    if (batch.version == 0) held.wait();
    most_ahead = std::max<PolicyVersion>(most_ahead, begun - batch.version);
    return update(batch);
  };
  Pipeline pipeline(stages, clocks_);
  while (begun < 2) std::this_thread::yield();
  EXPECT_FALSE(pipeline.WaitUntilOver(milliseconds(50)));
  EXPECT_EQ(begun, 2U);  // The first is being trained on, the second waits.
  held.count_down();
  EXPECT_TRUE(pipeline.WaitUntilOver(kForever));
  pipeline.Stop();
  EXPECT_LE(most_ahead, 3U);  // In training, waiting, and begun since the last look.
}

TEST_F(PipelineTest, StopFinishesTheUpdateUnderWayAndDropsTheBatchThatWaits) {
  std::promise<std::stop_token> token;
  std::future<std::stop_token> token_for_update = token.get_future();
  std::latch second_made_and_first_in_training(2);
  Pipeline::Stages stages = Stages(50);
  stages.batch = [&, batch = stages.batch](const std::stop_token& stop) {
    if (made_ == 0) token.set_value(stop);
    std::optional<Batch> made = batch(stop);
    if (made && made->version == 1) second_made_and_first_in_training.count_down();
    return made;
  };
  stages.update = [&, update = stages.update](const Batch& batch) {
    second_made_and_first_in_training.count_down();
    const std::stop_token stop = token_for_update.get();
    while (!stop.stop_requested()) std::this_thread::yield();
    return update(batch);
  };
  Pipeline pipeline(stages, clocks_);
  second_made_and_first_in_training.wait();
  pipeline.Stop();
  EXPECT_EQ(trained_, std::vector<PolicyVersion>{0});
  EXPECT_EQ(published_, std::vector<PolicyVersion>{1});
  EXPECT_EQ(made_, 2U);
  EXPECT_EQ(dropped_, 1);
}

TEST_F(PipelineTest, AFailureOfAnyStageEndsAllWithItsReason) {
  const auto throw_failure = [](const char* what) { throw RunFailed(what); };
  Pipeline::Stages bad_batch = Stages(50);
  bad_batch.batch = [&, batch = bad_batch.batch](const std::stop_token& stop) {
    if (made_ == 5) throw_failure("no episodes");
    return batch(stop);
  };
  {
    Pipeline pipeline(bad_batch, clocks_);
    EXPECT_EQ(ReasonOf(pipeline), "no episodes");
  }
  made_ = 0;
  Pipeline::Stages bad_update = Stages(50);
  bad_update.update = [&](const Batch&) -> UpdateResult { throw std::bad_alloc(); };
  {
    Pipeline pipeline(bad_update, clocks_);
    EXPECT_THAT(ReasonOf(pipeline), HasSubstr("update: "));  // What is not ours says where it was.
  }
  made_ = 0;
  Pipeline::Stages bad_publish = Stages(50);
  bad_publish.publish = [&](const UpdateResult&) { throw_failure("metrics.jsonl: cannot be written"); };
  {
    Pipeline pipeline(bad_publish, clocks_);
    EXPECT_EQ(ReasonOf(pipeline), "metrics.jsonl: cannot be written");
  }
  made_ = 0;
  Pipeline::Stages bad_idle = Stages(50);
  bad_idle.batch = [](const std::stop_token& stop) -> std::optional<Batch> {
    while (!stop.stop_requested()) std::this_thread::yield();  // No episodes come at all.
    return std::nullopt;
  };
  bad_idle.while_idle = [&] { throw_failure("evaluation: out of memory"); };
  Pipeline pipeline(bad_idle, clocks_);
  EXPECT_EQ(ReasonOf(pipeline), "evaluation: out of memory");
}

TEST_F(PipelineTest, IdleTimeIsUsed) {
  Pipeline::Stages stages = Stages(1);
  std::latch idle_once(1);
  stages.while_idle = [&] {
    if (idle_++ == 0) idle_once.count_down();
  };
  stages.batch = [](const std::stop_token& stop) -> std::optional<Batch> {
    while (!stop.stop_requested()) std::this_thread::yield();
    return std::nullopt;
  };
  Pipeline pipeline(stages, clocks_);
  idle_once.wait();
  pipeline.Stop();
  EXPECT_GE(idle_, 1);
}

// Stopped at any moment, in the middle of whatever the stages do: what was received was trained on or is stale.
TEST_F(PipelineTest, TheLedgerBalancesWheneverItIsStopped) {
  Rng rng(8);
  for (int round = 0; round < 200; ++round) {
    Ledger ledger;
    const ActorKey actor = ledger.Join("a", 1, 1);
    const auto stop_after = static_cast<uint64_t>(rng.UniformInt(0, 60));
    std::atomic<uint64_t> received = 0;
    uint64_t published = 0;
    Batcher batcher(
        [&](milliseconds) -> std::optional<Episode> {
          Episode episode;
          episode.trajectory.actor = actor;
          episode.trajectory.sequence = received + 1;
          EXPECT_EQ(ledger.Admit(actor, received + 1), Ledger::Admission::kNew);
          ++received;
          return episode;
        },
        {.first = 0, .end = 100'000, .episodes = 4, .max_lag = 8}, ledger, clocks_[Stage::kBatch]);
    Pipeline::Stages stages = Stages(0);
    stages.batch = [&](const std::stop_token& stop) { return batcher.Next(stop); };
    stages.update = [&, update = stages.update](const Batch& batch) {
      for (const Trajectory& trajectory : batch.trajectories) ledger.CountTrained(trajectory.actor);
      return update(batch);
    };
    stages.publish = [&](const UpdateResult& result) { published = result.weights->version; };
    stages.drop = [&](const Batch& batch) { CountStale(batch, ledger); };
    trained_.clear();
    {
      Pipeline pipeline(stages, clocks_);
      while (received < stop_after) std::this_thread::yield();
      pipeline.Stop();
    }
    const LedgerCounts total = ledger.Total();
    EXPECT_EQ(total.produced, received);
    EXPECT_EQ(total.trained, 4 * trained_.size());
    EXPECT_EQ(published, trained_.size());  // All that was trained has been published.
    EXPECT_EQ(total.trained + total.stale, received);
  }
}

}  // namespace
}  // namespace emplace
