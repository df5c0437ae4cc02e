#include "learner/intake/trial_episodes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "actor/trial_rollout.h"
#include "policy/policy_kinds.h"

namespace emplace {
namespace {

class TrialEpisodesTest : public testing::Test {
 protected:
  TrialEpisodesTest() {
    config_.policy.kind = "planner";
    config_.workload.family = kInstances;
    config_.training.objective = TrainingObjective::kEvolution;
    config_.training.episodes_per_update = 12;
    config_.evolution.population = 4;
    config_.evolution.checked = 1;
    config_.instances.max_ops = 150;
    const PolicyKind& kind = FindPolicyKind("planner");
    PolicyWeights weights;
    weights.shape = kind.Shape(config_.policy, 0);
    weights.values = kind.InitialValues(weights.shape, config_.policy, Rng(1));
    weights.version = 3;
    weights_ = std::make_shared<const PolicyWeights>(std::move(weights));
  }

  std::vector<Trajectory> Play(std::vector<uint32_t> indices) const {
    TrialRollout rollout(tasks_, config_, ActorKey{1, 2});
    rollout.SetWeights(weights_);
    rollout.StartLockstep(indices, config_.seed);
    std::vector<Trajectory> trials;
    while (!rollout.idle()) {
      for (Trajectory& trial : rollout.Advance(1)) trials.push_back(std::move(trial));
    }
    return trials;
  }

  TrialEpisodes Rules() const {
    return {tasks_, config_, [this] { return weights_; }};
  }

  const std::vector<PlacementTask> tasks_;
  RunConfig config_;
  std::shared_ptr<const PolicyWeights> weights_;
};

TEST_F(TrialEpisodesTest, TrueTrialsPass) {
  const TrialEpisodes rules = Rules();
  const auto checker = rules.MakeChecker();
  const std::vector<Trajectory> trials = Play({0, 1, 5, 11});
  ASSERT_EQ(trials.size(), 4U);
  for (const Trajectory& trial : trials) {
    EXPECT_EQ(rules.CheckShape(trial), std::nullopt);
    const EpisodeWorth worth = checker->Check(trial);
    EXPECT_EQ(worth.reason, std::nullopt);
    EXPECT_NEAR(worth.ratio, std::exp(static_cast<double>(trial.rho[0])), 1e-6);
  }
}

TEST_F(TrialEpisodesTest, ATrialIsTheSameWhateverIsPlayedBesideIt) {
  const std::vector<Trajectory> together = Play({4, 5, 6, 7});
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(Play({4 + i})[0].rho, together[i].rho);
}

TEST_F(TrialEpisodesTest, AFalseScoreIsFound) {
  const TrialEpisodes rules = Rules();
  Trajectory trial = Play({2})[0];
  trial.rho[0] -= 0.01F;
  EXPECT_EQ(rules.CheckShape(trial), std::nullopt);
  EXPECT_TRUE(rules.MakeChecker()->Check(trial).reason);
}

TEST_F(TrialEpisodesTest, NoneIsRunAgainWithoutAShare) {
  config_.evolution.checked = 0;
  const TrialEpisodes rules = Rules();
  Trajectory trial = Play({2})[0];
  trial.rho[0] -= 0.01F;
  EXPECT_FALSE(rules.MakeChecker()->Check(trial).reason);
}

TEST_F(TrialEpisodesTest, WhatIsNoTrialIsRefused) {
  const TrialEpisodes rules = Rules();
  const Trajectory trial = Play({0})[0];
  const auto refused = [&](auto&& change) {
    Trajectory changed = trial;
    change(changed);
    return rules.CheckShape(changed).has_value();
  };
  EXPECT_TRUE(refused([](Trajectory& t) { t.index = 12; }));
  EXPECT_TRUE(refused([](Trajectory& t) { t.graph = 1; }));
  EXPECT_TRUE(refused([](Trajectory& t) { t.actions = {0}; }));
  EXPECT_TRUE(refused([](Trajectory& t) { t.start_placement = {0}; }));
  EXPECT_TRUE(refused([](Trajectory& t) { t.rho.clear(); }));
  EXPECT_TRUE(refused([](Trajectory& t) { t.rho[0] = std::numeric_limits<float>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](Trajectory& t) { t.rho[0] = -1000; }));
  EXPECT_FALSE(refused([](Trajectory&) {}));
}

}  // namespace
}  // namespace emplace
