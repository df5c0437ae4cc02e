#include "learner/pipeline/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/files/file_io.h"
#include "common/strings.h"
#include "common/wire/actor_endpoint.h"
#include "learner/intake/best_placements.h"
#include "learner/intake/placement_episodes.h"
#include "learner/intake/trajectory_intake.h"
#include "policy/placeto/placeto_kind.h"
#include "tests/learner/episodes.h"
#include "tests/learner/fake_engine.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::SizeIs;

// A run's parts but for its pipeline: updates are made by hand.
class PublisherTest : public testing::Test {
 protected:
  PublisherTest()
      : folder_(fs::path(testing::TempDir()) / ("publisher_" + std::to_string(::getpid()))),
        actor_(ledger_.Join("a", 1, 1)) {
    fs::remove_all(folder_);
    workload_.train = TwoDeviceTasks(1, 3);
    workload_.validation = TwoDeviceTasks(2, 2);
    workload_.test = TwoDeviceTasks(3, 2);
    workload_.num_devices = 2;
    workload_.graphs_hash = "0123456789abcdef";
    config_.evaluation.every = 4;
    config_.checkpoint.every = 3;
    config_.checkpoint.seconds = 0;
    const PolicyWeights initial = SmallPolicy(1);
    updater_.emplace(workload_.train, config_, initial, std::make_unique<FakeEngine>(initial));
    dir_.emplace(folder_, false, std::chrono::milliseconds(0), never_);
    store_.emplace(dir_->checkpoints(), 10);
    best_.emplace(*store_, false);
    plateau_.emplace(Plateau::Options{.patience = 4}, Plateau::Before());
    metrics_.emplace(folder_, 0);
    progress_.emplace(config_, 0, 0);
    placements_.emplace(workload_.train, PlacetoKind(), config_.environment, clock_);
    sessions_.emplace(workload_.train, config_, ledger_, ActorSessions::Extras{});
    weights_.emplace(std::make_shared<const PolicyWeights>(initial), *sessions_);
    rules_.emplace(workload_.train, config_, *placements_);
    intake_.emplace(*rules_, workload_.train, config_, ledger_, *sessions_, clocks_[Stage::kCheck]);
    front_end_.emplace(config_.network, *sessions_, *weights_, *intake_, clocks_);
    evaluation_.emplace(workload_, PlacerOptions(), clocks_[Stage::kEvaluate], measuring_);
    update_.emplace(*updater_, config_.checkpoint, ledger_, clock_);
    publisher_.emplace(
        config_, workload_, Rng(5),
        Publisher::Outputs{*weights_, *front_end_, *evaluation_, *metrics_, *progress_, [this] { WritePlacements(); },
                           *store_, *best_, *plateau_, *dir_, ledger_, clocks_, clock_, out_});
  }
  ~PublisherTest() override { fs::remove_all(folder_); }

  void WritePlacements() {
    const std::optional<Checkpoint> newest = store_->LoadNewest();
    checkpoints_then_.push_back(newest ? newest->updates : -1);
  }

  UpdateResult Update() {
    Batch batch;
    batch.version = updater_->weights().version;
    batch.trajectories = Episodes(workload_.train, config_.environment, updater_->weights(), 2, Rng(batch.version));
    for (Trajectory& trajectory : batch.trajectories) {
      trajectory.actor = actor_;
      trajectory.sequence = ++sequence_;
      EXPECT_EQ(ledger_.Admit(actor_, sequence_), Ledger::Admission::kNew);
    }
    batch.stats.mean_ratio = 0.5;
    return update_->Train(batch);
  }

  std::vector<nlohmann::json> Lines(const std::string& kind) const {
    std::vector<nlohmann::json> lines;
    for (const std::string& line : Split(ReadFile(folder_ / "metrics.jsonl"), '\n')) {
      if (line.empty()) continue;
      nlohmann::json json = nlohmann::json::parse(line);
      if (json.at("kind") == kind) lines.push_back(std::move(json));
    }
    return lines;
  }
  std::vector<int64_t> UpdatesOf(const std::string& kind) const {
    std::vector<int64_t> updates;
    for (const nlohmann::json& line : Lines(kind)) updates.push_back(line.at("update"));
    return updates;
  }

  const fs::path folder_;
  const std::atomic<bool> never_ = false;
  RunConfig config_;
  Workload workload_;
  Ledger ledger_;
  const ActorKey actor_;
  uint64_t sequence_ = 0;
  StageClocks clocks_;
  const RunClock clock_{0};
  std::optional<PolicyUpdater> updater_;
  std::optional<RunDirectory> dir_;
  std::optional<CheckpointStore> store_;
  // The newest checkpoint's updates at each WritePlacements; -1: there was none.
  std::vector<int64_t> checkpoints_then_;
  std::optional<BestPolicy> best_;
  std::optional<Plateau> plateau_;
  std::optional<Metrics> metrics_;
  std::optional<Progress> progress_;
  std::optional<BestPlacements> placements_;
  std::optional<ActorSessions> sessions_;
  std::optional<WeightsBroadcast> weights_;
  std::optional<PlacementEpisodes> rules_;
  std::optional<TrajectoryIntake> intake_;
  std::optional<FrontEnd> front_end_;
  const std::atomic<bool> measuring_ = false;
  std::optional<EvaluationThread> evaluation_;
  std::optional<UpdateStage> update_;
  LineWriter out_{STDOUT_FILENO};
  std::optional<Publisher> publisher_;
};

TEST_F(PublisherTest, EachUpdateLeavesALineThatSaysHowBusyTheStagesWere) {
  for (int i = 0; i < 3; ++i) publisher_->Publish(Update());
  EXPECT_THAT(UpdatesOf("update"), ElementsAre(1, 2, 3));
  clocks_[Stage::kUpdate].Busy();
  while (clocks_.Read()[Stage::kUpdate].busy == 0) {
  }
  clocks_[Stage::kUpdate].Waiting();
  const double busy = clocks_.Read()[Stage::kUpdate].busy;
  publisher_->Publish(Update());
  publisher_->Publish(Update());
  const std::vector<nlohmann::json> lines = Lines("update");
  ASSERT_EQ(lines.size(), 5U);
  for (const nlohmann::json& line : lines) {
    EXPECT_EQ(line.at("mean_ratio"), 0.5);
    for (const char* const stage : metrics::kStages) EXPECT_TRUE(line.at(metrics::BusySeconds(stage)).is_number());
  }
  EXPECT_EQ(lines[2].at("update_busy_s"), 0);
  EXPECT_EQ(lines[3].at("update_busy_s"), busy);
  EXPECT_EQ(lines[4].at("update_busy_s"), 0);  // Since the line before, not in all.
}

TEST_F(PublisherTest, OnlyEvaluationsThatWereDueShowAPlateau) {
  publisher_->Begin(update_->Save().weights);
  publisher_->EvaluateLast(update_->Save().weights);
  EXPECT_THAT(plateau_->history(), SizeIs(1));
  publisher_->Publish(Update());
  publisher_->EvaluateLast(update_->Save().weights);
  EXPECT_THAT(UpdatesOf("evaluation"), ElementsAre(0, 1));
  EXPECT_THAT(plateau_->history(), SizeIs(1));
  for (int i = 0; i < 3; ++i) publisher_->Publish(Update());
  publisher_->EvaluateLast(update_->Save().weights);
  EXPECT_THAT(UpdatesOf("evaluation"), ElementsAre(0, 1, 4));
  EXPECT_THAT(plateau_->history(), SizeIs(2));
}

// tests/golden/files/metrics.jsonl is a run's: what reads such files is tested with it, so it has to have today's keys.
TEST_F(PublisherTest, LinesHaveTheKeysOfTheGoldenFile) {
  publisher_->Publish(Update());
  publisher_->EvaluateLast(update_->Save().weights);
  const auto keys_of = [](const nlohmann::json& line) {
    std::set<std::string> keys;
    for (const auto& [key, value] : line.items()) keys.insert(key);
    return keys;
  };
  std::map<std::string, std::set<std::string>> golden;
  for (const std::string& line : Split(ReadFile(EMPLACE_GOLDEN_METRICS), '\n')) {
    if (line.empty()) continue;
    const nlohmann::json json = nlohmann::json::parse(line);
    golden[json.at("kind")] = keys_of(json);
  }
  EXPECT_THAT(golden, SizeIs(2));
  for (const auto& [kind, golden_keys] : golden) {
    const std::vector<nlohmann::json> lines = Lines(kind);
    ASSERT_FALSE(lines.empty()) << kind;
    EXPECT_EQ(keys_of(lines.back()), golden_keys) << kind;
  }
}

TEST_F(PublisherTest, ACheckpointHoldsTheStateOfItsUpdateThoughLaterOnesRun) {
  std::vector<UpdateResult> updates;
  for (int i = 0; i < 5; ++i) updates.push_back(Update());  // All are made before any is published.
  for (const UpdateResult& result : updates) publisher_->Publish(result);
  const std::optional<Checkpoint> checkpoint = store_->LoadNewest();
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_EQ(checkpoint->updates, 3);
  EXPECT_EQ(checkpoint->policy.version, 3U);
  EXPECT_EQ(checkpoint->policy.values, updates[2].weights->values);
  EXPECT_EQ(checkpoint->updater.adam.steps, 3);
  ExpectEqual(checkpoint->updater, updates[2].snapshot->updater);
  EXPECT_EQ(checkpoint->rng_state, Rng(5).state());
  Ledger then;
  then.FromJson(checkpoint->ledger_json);
  EXPECT_EQ(then.Total().trained, 3U * 2);
  EXPECT_EQ(ledger_.Total().trained, 5U * 2);
}

TEST_F(PublisherTest, PlacementsAreWrittenBeforeACheckpoint) {
  for (int i = 0; i < 7; ++i) publisher_->Publish(Update());
  EXPECT_EQ(checkpoints_then_, (std::vector<int64_t>{-1, 3}));
}

TEST_F(PublisherTest, ActorsGetTheNewWeights) {
  ActorEndpoint actor(front_end_->address());
  const auto served = [&]() -> PolicyVersion {
    while (!actor.Send(WeightsRequest{})) {
    }
    while (true) {
      const auto received = actor.Receive(std::chrono::milliseconds(1000));
      if (!received) continue;
      if (const auto* const reply = std::get_if<WeightsReply>(&*received)) return reply->version;
    }
  };
  publisher_->Publish(Update());
  publisher_->Publish(Update());
  while (served() < 2) {
  }
  EXPECT_EQ(served(), 2U);
}

TEST_F(PublisherTest, EvaluationsAreTakenInAndTheBestIsKept) {
  for (int i = 0; i < 4; ++i) publisher_->Publish(Update());
  evaluation_->WaitIdle();
  publisher_->TakeReport();
  EXPECT_THAT(UpdatesOf("evaluation"), ElementsAre(4));
  EXPECT_EQ(store_->LoadBest()->version, 4U);
  EXPECT_EQ(best_->ratio(), Lines("evaluation")[0].at("validation_ratio"));
}

TEST_F(PublisherTest, TheEndEvaluatesTheLastWeightsAndWritesThem) {
  for (int i = 0; i < 5; ++i) publisher_->Publish(Update());
  publisher_->EvaluateLast(update_->Save().weights);
  publisher_->WriteCheckpoint(update_->Save());
  EXPECT_THAT(UpdatesOf("evaluation"), ElementsAre(4, 5));
  EXPECT_EQ(store_->LoadNewest()->updates, 5);
  EXPECT_EQ(store_->LoadNewest()->best_validation, best_->ratio());
  EXPECT_THAT(store_->LoadNewest()->validation_history, ElementsAre(Lines("evaluation")[0].at("validation_ratio")));
  const nlohmann::json ledger = nlohmann::json::parse(ReadFile(dir_->ledger()));
  EXPECT_EQ(ledger.at("total").at("trained"), 10);
}

TEST_F(PublisherTest, WhatHasBeenEvaluatedIsNotEvaluatedAgain) {
  for (int i = 0; i < 4; ++i) publisher_->Publish(Update());
  publisher_->EvaluateLast(update_->Save().weights);
  EXPECT_THAT(UpdatesOf("evaluation"), ElementsAre(4));
}

}  // namespace
}  // namespace emplace
