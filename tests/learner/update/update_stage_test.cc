#include "learner/update/update_stage.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/error.h"
#include "tests/learner/episodes.h"
#include "tests/learner/fake_engine.h"

namespace emplace {
namespace {

CheckpointConfig EveryUpdates(int64_t every) {
  CheckpointConfig config;
  config.every = every;
  config.seconds = 0;
  return config;
}

class UpdateStageTest : public testing::Test {
 protected:
  UpdateStageTest() : tasks_(TwoDeviceTasks(1, 3)), actor_(ledger_.Join("a", 1, 1)) {
    config_.training.baseline_window = 3;
  }

  std::unique_ptr<PolicyUpdater> MakeUpdater(const PolicyWeights& weights) const {
    return std::make_unique<PolicyUpdater>(tasks_, config_, weights, std::make_unique<FakeEngine>(weights));
  }

  // Four episodes for the update that starts from `version`, as the ledger knows them.
  Batch BatchFor(PolicyVersion version) {
    Batch batch;
    batch.version = version;
    batch.trajectories = Episodes(tasks_, config_.environment, SmallPolicy(1, version), 4, Rng(version));
    for (Trajectory& trajectory : batch.trajectories) {
      trajectory.actor = actor_;
      trajectory.sequence = ++sequence_;
      EXPECT_EQ(ledger_.Admit(actor_, sequence_), Ledger::Admission::kNew);
    }
    return batch;
  }

  const std::vector<PlacementTask> tasks_;
  RunConfig config_;
  Ledger ledger_;
  const RunClock clock_{100};
  const ActorKey actor_;
  uint64_t sequence_ = 0;
};

TEST_F(UpdateStageTest, EachUpdateRaisesTheVersionAndIsCounted) {
  const auto updater = MakeUpdater(SmallPolicy(1, 4));
  UpdateStage stage(*updater, EveryUpdates(100), ledger_, clock_);
  EXPECT_EQ(stage.updates(), 4);
  for (PolicyVersion version = 4; version < 9; ++version) {
    Batch batch = BatchFor(version);
    batch.stats.lag_max = static_cast<int64_t>(version);
    const UpdateResult result = stage.Train(batch);
    EXPECT_EQ(result.weights->version, version + 1);
    EXPECT_EQ(result.weights->values, updater->weights().values);
    EXPECT_EQ(result.batch_stats.lag_max, static_cast<int64_t>(version));
    EXPECT_EQ(result.stats.gradient_norm, 2);
    EXPECT_FALSE(result.snapshot.has_value());
    EXPECT_EQ(stage.updates(), static_cast<int64_t>(version + 1));
  }
  EXPECT_EQ(ledger_.Total().trained, sequence_);
}

TEST_F(UpdateStageTest, FailsWhenNothingIsLearnedAnyMore) {
  const PolicyWeights weights = SmallPolicy(1);
  auto engine = std::make_unique<FakeEngine>(weights);
  FakeEngine& fake = *engine;
  PolicyUpdater updater(tasks_, config_, weights, std::move(engine));
  UpdateStage stage(updater, EveryUpdates(1000), ledger_, clock_);
  PolicyVersion version = 0;
  const auto skip = [&](int updates) {
    fake.gradient_norm = std::nan("");
    for (int i = 0; i < updates; ++i) stage.Train(BatchFor(version++));
  };
  skip(99);
  fake.gradient_norm = 2;
  stage.Train(BatchFor(version++));  // It has recovered.
  skip(99);
  try {
    skip(1);
    ADD_FAILURE() << "it goes on";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 1);
    EXPECT_NE(std::string(error.what()).find("the last 100 updates, up to update 200, were skipped"), std::string::npos)
        << error.what();
  }
}

TEST_F(UpdateStageTest, ASnapshotIsTheStateAfterItsUpdateAndStaysSo) {
  const auto updater = MakeUpdater(SmallPolicy(1));
  UpdateStage stage(*updater, EveryUpdates(3), ledger_, clock_);
  std::vector<Batch> batches;
  for (PolicyVersion version = 0; version < 8; ++version) batches.push_back(BatchFor(version));

  std::optional<UpdateResult> third;
  UpdaterState state_after_third;
  for (const Batch& batch : batches) {
    UpdateResult result = stage.Train(batch);
    EXPECT_EQ(result.snapshot.has_value(), result.weights->version % 3 == 0);
    if (result.weights->version == 3) {
      third = std::move(result);
      state_after_third = updater->SaveState();
    }
  }
  // Five updates later it is still that of the third.
  const Snapshot& snapshot = *third->snapshot;
  EXPECT_EQ(snapshot.weights->version, 3U);
  ExpectEqual(snapshot.updater, state_after_third);
  EXPECT_GE(snapshot.train_seconds, 100);
  Ledger ledger_then;
  ledger_then.FromJson(snapshot.ledger_json);
  EXPECT_EQ(ledger_then.Total().trained, 3U * 4);

  // And whoever goes on from it ends where the run that never stopped has ended.
  const auto resumed = MakeUpdater(*snapshot.weights);
  resumed->LoadState(snapshot.updater);
  UpdateStage second(*resumed, EveryUpdates(3), ledger_, clock_);
  for (size_t i = 3; i < batches.size(); ++i) {
    for (Trajectory& trajectory : batches[i].trajectories) {  // The same episodes, sent anew.
      trajectory.sequence = ++sequence_;
      EXPECT_EQ(ledger_.Admit(actor_, sequence_), Ledger::Admission::kNew);
    }
    second.Train(batches[i]);
  }
  const Snapshot ends[] = {stage.Save(), second.Save()};
  EXPECT_EQ(ends[0].weights->version, ends[1].weights->version);
  EXPECT_EQ(ends[0].weights->values, ends[1].weights->values);
  ExpectEqual(ends[0].updater, ends[1].updater);
}

TEST_F(UpdateStageTest, ACheckpointIsDueAfterSomeSecondsToo) {
  const auto updater = MakeUpdater(SmallPolicy(1));
  CheckpointConfig config = EveryUpdates(1000);
  config.seconds = 1e-9;  // Every update takes longer.
  UpdateStage stage(*updater, config, ledger_, clock_);
  config.seconds = 1e6;
  UpdateStage patient(*updater, config, ledger_, clock_);
  for (PolicyVersion version = 0; version < 6; ++version) {
    const bool often = version % 2 == 0;
    EXPECT_EQ((often ? stage : patient).Train(BatchFor(version)).snapshot.has_value(), often);
  }
}

TEST_F(UpdateStageTest, ABatchForAnotherVersionIsABug) {
  const auto updater = MakeUpdater(SmallPolicy(1, 4));
  UpdateStage stage(*updater, EveryUpdates(100), ledger_, clock_);
  const Batch batch = BatchFor(5);
  EXPECT_DEATH(stage.Train(batch), "version");
}

}  // namespace
}  // namespace emplace
