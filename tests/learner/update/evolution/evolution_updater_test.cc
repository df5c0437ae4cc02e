#include "learner/update/evolution/evolution_updater.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "learner/update/evolution/widened_planner.h"
#include "policy/gaussian.h"
#include "policy/policy_kinds.h"
#include "policy/trials/trial_runner.h"

namespace emplace {
namespace {

class EvolutionUpdaterTest : public testing::TestWithParam<EvolutionAlgorithm> {
 protected:
  EvolutionUpdaterTest() {
    config_.policy.kind = "planner";
    config_.policy.own["parameters"] = int64_t{20};
    config_.training.objective = TrainingObjective::kEvolution;
    config_.training.sync = Sync::kLockstep;
    config_.training.episodes_per_update = kPopulation * kProblems;
    config_.evolution.population = kPopulation;
    config_.evolution.algorithm = GetParam();
    policy_ = NewPolicy();
  }

  PolicyWeights NewPolicy() const {
    const PolicyKind& kind = FindPolicyKind("planner");
    PolicyWeights policy;
    policy.shape = kind.Shape(config_.policy, 0);
    policy.values = kind.InitialValues(policy.shape, config_.policy, Rng(1));
    return policy;
  }

  // The trials of a version, where a candidate is worth what `score` says of its parameters and the problem.
  template <typename Score>
  std::vector<Trajectory> Generation(const PolicyWeights& weights, Score&& score) const {
    std::vector<Trajectory> batch;
    for (uint32_t index = 0; index < kPopulation * kProblems; ++index) {
      Trajectory trial;
      trial.index = index;
      trial.policy_version = weights.version;
      trial.rho = {static_cast<float>(score(CandidateOf(weights, config_, index % kPopulation), index / kPopulation))};
      batch.push_back(std::move(trial));
    }
    return batch;
  }

  static constexpr int64_t kPopulation = 12;
  static constexpr int64_t kProblems = 3;
  RunConfig config_;
  PolicyWeights policy_;
};

double Distance(std::span<const float> x) {
  double sum = 0;
  for (const float value : x) sum += std::pow(static_cast<double>(value) - 1, 2);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

// Problems differ by far more than candidates do on one of them.
double FarApart(std::span<const float> x, uint32_t problem) { return 0.1 * Distance(x) - 2.0 * problem; }

// By how much each of so many vectors counts, in closed form: vector t as t (t + 1) ... (t + power - 1).
std::vector<double> AverageShares(size_t vectors, double power) {
  std::vector<double> shares;
  double sum = 0;
  for (size_t t = vectors; t >= 1; --t) {
    const auto log_product = [&](size_t i) { return std::lgamma(static_cast<double>(i) + power) - std::lgamma(i); };
    shares.insert(shares.begin(), std::exp(log_product(t) - log_product(vectors)));
    sum += shares.front();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

INSTANTIATE_TEST_SUITE_P(Algorithms, EvolutionUpdaterTest,
                         testing::Values(EvolutionAlgorithm::kCma, EvolutionAlgorithm::kOpenAi),
                         [](const auto& of) { return of.param == EvolutionAlgorithm::kCma ? "Cma" : "OpenAi"; });

TEST_P(EvolutionUpdaterTest, MovesToWhereCandidatesAreBetterWhateverTheProblemIsWorth) {
  EvolutionUpdater updater(config_, policy_);
  const double before = Distance(Gaussian(updater.weights()).mean);
  for (int i = 0; i < 150; ++i) updater.Update(Generation(updater.weights(), FarApart));
  EXPECT_EQ(updater.weights().version, 150U);
  EXPECT_LT(Distance(Gaussian(updater.weights()).mean), 0.5 * before);
}

TEST_P(EvolutionUpdaterTest, OneProblemCannotDecide) {
  config_.evolution.score_clip = 0.01;
  EvolutionUpdater clipped(config_, policy_);
  EvolutionUpdater without(config_, policy_);
  // On problem 0 one candidate is far worse than it looks on the others; within the clip that changes nothing.
  const auto with_freak = [&](double freak) {
    return [freak](std::span<const float> x, uint32_t problem) {
      return x[0] > 0 && problem == 0 ? freak : problem == 0 ? 0.0 : 0.1 * Distance(x);
    };
  };
  clipped.Update(Generation(policy_, with_freak(2.5)));
  without.Update(Generation(policy_, with_freak(0.5)));
  EXPECT_EQ(clipped.weights().values, without.weights().values);
}

TEST_P(EvolutionUpdaterTest, GoesOnFromItsStateBitForBit) {
  config_.evolution.average_power = 3;
  EvolutionUpdater whole(config_, policy_);
  for (int i = 0; i < 5; ++i) whole.Update(Generation(whole.weights(), FarApart));
  EvolutionUpdater resumed(config_, whole.weights());
  resumed.LoadState(whole.SaveState());
  for (EvolutionUpdater* const updater : {&whole, &resumed}) {
    for (int i = 0; i < 5; ++i) updater->Update(Generation(updater->weights(), FarApart));
  }
  EXPECT_EQ(whole.weights().values, resumed.weights().values);
  EXPECT_EQ(whole.Averaged()->values, resumed.Averaged()->values);
  EXPECT_EQ(whole.weights().version, 10U);
}

TEST_P(EvolutionUpdaterTest, HandsOutAnAverageInWhichLateGenerationsCountMore) {
  for (const double power : {0.5, 1.0, 3.0, 1000.0}) {
    config_.evolution.average_power = power;
    EvolutionUpdater updater(config_, policy_);
    EXPECT_EQ(updater.Averaged()->values, policy_.values);
    std::vector<std::vector<float>> means;
    for (int i = 0; i < 6; ++i) {
      updater.Update(Generation(updater.weights(), FarApart));
      const std::span<const float> mean = Gaussian(updater.weights()).mean;
      means.emplace_back(mean.begin(), mean.end());
    }
    const PolicyWeights averaged = *updater.Averaged();
    EXPECT_EQ(averaged.version, 6U);
    EXPECT_EQ(averaged.shape, policy_.shape);
    const std::vector<double> shares = AverageShares(means.size(), power);
    for (size_t i = 0; i < means.front().size(); ++i) {
      double expected = 0;
      for (size_t t = 0; t < means.size(); ++t) expected += shares[t] * static_cast<double>(means[t][i]);
      EXPECT_NEAR(averaged.values[i], expected, 1e-4) << power << ", parameter " << i;
    }
    const std::span<const float> spread = Gaussian(averaged).spread;
    EXPECT_TRUE(std::ranges::equal(spread, Gaussian(updater.weights()).spread));
  }
}

TEST_P(EvolutionUpdaterTest, APenaltyPullsTowardsThePlannerSetByHand) {
  config_.evolution.penalty = 0.003;
  const size_t n = Gaussian(policy_).mean.size();
  std::fill_n(policy_.values.begin(), n, 2.0F);
  EvolutionUpdater updater(config_, policy_);
  const auto all_alike = [](std::span<const float> /*x*/, uint32_t /*problem*/) { return 0.0; };
  for (int i = 0; i < 150; ++i) updater.Update(Generation(updater.weights(), all_alike));
  double square = 0;
  for (const float value : Gaussian(updater.weights()).mean) square += std::pow(static_cast<double>(value), 2);
  EXPECT_LT(square, 0.25 * 4 * static_cast<double>(n));
}

TEST_P(EvolutionUpdaterTest, HandsOutItsWeightsWithoutAPower) {
  EvolutionUpdater updater(config_, policy_);
  updater.Update(Generation(updater.weights(), FarApart));
  EXPECT_FALSE(updater.Averaged());
}

TEST_P(EvolutionUpdaterTest, AStateWithoutAnAverageBeginsOne) {
  config_.evolution.average_power = 3;
  EvolutionUpdater before(config_, policy_);
  for (int i = 0; i < 3; ++i) before.Update(Generation(before.weights(), FarApart));
  UpdaterState state = before.SaveState();
  std::erase_if(state.objective.tensors,
                [](const SafetensorsTensor& tensor) { return tensor.name.starts_with("evolution."); });
  EvolutionUpdater resumed(config_, before.weights());
  resumed.LoadState(state);
  EXPECT_EQ(resumed.Averaged()->values, before.weights().values);
  resumed.Update(Generation(resumed.weights(), FarApart));
  EXPECT_EQ(resumed.Averaged()->values, resumed.weights().values);
}

TEST_P(EvolutionUpdaterTest, RefusesAnAverageOfOtherParameters) {
  EvolutionUpdater updater(config_, policy_);
  updater.Update(Generation(updater.weights(), FarApart));
  UpdaterState state = updater.SaveState();
  const std::vector<double> three(3);
  for (SafetensorsTensor& tensor : state.objective.tensors) {
    if (tensor.name == "evolution.average") tensor = SafetensorsTensor::Of<double>(tensor.name, {3}, three);
  }
  EXPECT_THROW(updater.LoadState(state), Error);
}

TEST_P(EvolutionUpdaterTest, LeavesParametersAloneThatItDoesNotLearn) {
  config_.policy.own["parameters"] = int64_t{5};
  PolicyWeights many = WidenedPlanner(policy_, NewPolicy(), 1, 1);
  ASSERT_EQ(many.shape, policy_.shape);
  const size_t n = Gaussian(many).mean.size();
  many.values[5] = 0.25F;

  EvolutionUpdater updater(config_, many);
  for (int i = 0; i < 3; ++i) {
    const auto first_five = [](std::span<const float> x, uint32_t /*problem*/) { return Distance(x.first(5)); };
    updater.Update(Generation(updater.weights(), first_five));
  }
  const Gaussian learned(updater.weights());
  ASSERT_EQ(learned.mean.size(), n);
  EXPECT_NE(learned.mean[4], 0);
  EXPECT_EQ(learned.mean[5], 0.25F);
  EXPECT_EQ(learned.mean[n - 1], Gaussian(policy_).mean[n - 1]);
  for (size_t i = 0; i < n; ++i) {
    EXPECT_EQ(learned.spread[i * n + i] != 0, i < 5);
    for (size_t j = 0; j < n; ++j) EXPECT_TRUE(learned.spread[i * n + j] == 0 || (i < 5 && j < 5));
  }
  EvolutionUpdater resumed(config_, updater.weights());
  resumed.LoadState(updater.SaveState());
  EXPECT_EQ(resumed.weights().values, updater.weights().values);
}

TEST_P(EvolutionUpdaterTest, RefusesAStateOfAnotherObjective) {
  EvolutionUpdater updater(config_, policy_);
  EXPECT_THROW(updater.LoadState({}), Error);
}

TEST_P(EvolutionUpdaterTest, RefusesAStateOfTheOtherAlgorithm) {
  EvolutionUpdater updater(config_, policy_);
  const bool is_cma = GetParam() == EvolutionAlgorithm::kCma;
  config_.evolution.algorithm = is_cma ? EvolutionAlgorithm::kOpenAi : EvolutionAlgorithm::kCma;
  EXPECT_THROW(updater.LoadState(EvolutionUpdater(config_, policy_).SaveState()), Error);
}

TEST_P(EvolutionUpdaterTest, TellsWhatItDid) {
  EvolutionUpdater updater(config_, policy_);
  const UpdateStats stats = updater.Update(Generation(policy_, FarApart));
  EXPECT_EQ(stats.states, kPopulation * kProblems);
  EXPECT_LT(stats.loss, -1.5);
  EXPECT_GT(stats.loss, -2.1);
  EXPECT_GT(stats.gradient_norm, 0);
  EXPECT_GT(stats.advantage_std, 0);
  EXPECT_NEAR(stats.learning_rate, 0.5, 0.1);
}

}  // namespace
}  // namespace emplace
