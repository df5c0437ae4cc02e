#include "learner/update/evolution/openai_es.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "common/error.h"
#include "common/rng.h"
#include "learner/update/evolution/cma.h"

namespace emplace {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

std::vector<double> EvenSpread(size_t n, double value) {
  std::vector<double> matrix(n * n, 0.0);
  for (size_t i = 0; i < n; ++i) matrix[i * n + i] = value;
  return matrix;
}

// A candidate for each of the numbers z [n], and the one on the other side of the mean. [2, n]
std::vector<double> PairOf(const EvolutionStrategy& strategy, const std::vector<double>& z) {
  const std::vector<double> spread = strategy.Spread();
  const std::vector<double>& mean = strategy.mean();
  std::vector<double> pair;
  for (const double side : {1.0, -1.0}) {
    for (size_t i = 0; i < mean.size(); ++i) {
      const auto row = spread.begin() + static_cast<std::ptrdiff_t>(i * mean.size());
      pair.push_back(mean[i] + side * std::inner_product(z.begin(), z.end(), row, 0.0));
    }
  }
  return pair;
}

// Candidates of a generation, [2 * pairs, n].
std::vector<double> Draw(const EvolutionStrategy& strategy, size_t pairs, Rng& rng) {
  std::vector<double> candidates;
  for (size_t k = 0; k < pairs; ++k) {
    std::vector<double> z(strategy.mean().size());
    for (double& number : z) number = rng.Normal();
    const std::vector<double> pair = PairOf(strategy, z);
    candidates.insert(candidates.end(), pair.begin(), pair.end());
  }
  return candidates;
}

template <typename Loss>
std::vector<double> LossesOf(const std::vector<double>& candidates, size_t n, Loss&& loss) {
  std::vector<double> losses;
  for (size_t at = 0; at < candidates.size(); at += n) losses.push_back(loss(std::span(candidates).subspan(at, n)));
  return losses;
}

template <typename Loss>
void Evolve(OpenAiEs& strategy, int generations, Rng& rng, Loss&& loss) {
  for (int generation = 0; generation < generations; ++generation) {
    const std::vector<double> candidates = Draw(strategy, 10, rng);
    strategy.Update(candidates, LossesOf(candidates, strategy.mean().size(), loss));
  }
}

// Least at (1, 1, ...), and a hundred times as steep along the last axis as along the first.
double Bowl(std::span<const double> x) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    sum += std::pow(100, static_cast<double>(i) / static_cast<double>(x.size() - 1)) * std::pow(x[i] - 1, 2);
  }
  return sum;
}

TEST(CenteredRanks, GoInEqualStepsFromTheLeastLossToTheGreatest) {
  EXPECT_THAT(CenteredRanks(std::vector<double>{3, -7, 1e9, 3.5, 0}), ElementsAre(0, -0.5, 0.5, 0.25, -0.25));
}

TEST(CenteredRanks, EqualLossesShareTheirMean) {
  EXPECT_THAT(CenteredRanks(std::vector<double>{2, 5, 2, 1, 5}), ElementsAre(-0.125, 0.375, -0.125, -0.5, 0.375));
  EXPECT_THAT(CenteredRanks(std::vector<double>{4, 4, 4}), ElementsAre(0, 0, 0));
}

// f(x) = a.x over x = m + S z is normal, so that its rank is Phi(t) of t = (S^T a).z / |S^T a|, and as
// E[(Phi(t) - 1/2) t] = 1 / (2 sqrt(pi)), E[(Phi(t) - 1/2) S z] = S S^T a / (2 sqrt(pi) |S^T a|).
TEST(OpenAiEs, EstimatesTheGradientOfALinearLoss) {
  constexpr size_t kN = 4;
  const std::vector<double> spread = {0.5, 0, 0, 0, 0.2, 0.4, 0, 0, 0, -0.3, 2, 0.1, 0, 0, 0.1, 0.05};
  const std::vector<double> a = {1, -2, 0.1, 3};
  std::vector<double> pulled(kN, 0.0);  // S^T a
  for (size_t i = 0; i < kN; ++i) {
    for (size_t j = 0; j < kN; ++j) pulled[j] += spread[i * kN + j] * a[i];
  }
  const double length = std::sqrt(std::inner_product(pulled.begin(), pulled.end(), pulled.begin(), 0.0));
  std::vector<double> expected;
  for (size_t i = 0; i < kN; ++i) {
    const auto row = spread.begin() + static_cast<std::ptrdiff_t>(i * kN);
    const double deviation = std::sqrt(std::inner_product(row, row + kN, row, 0.0));
    expected.push_back(std::inner_product(pulled.begin(), pulled.end(), row, 0.0) /
                       (deviation * 2 * std::sqrt(std::numbers::pi) * length));
  }

  const OpenAiEs strategy(std::vector<double>{5, 6, 7, 8}, spread, {});
  Rng rng(4);
  const std::vector<double> candidates = Draw(strategy, 20000, rng);
  const auto loss = [&](std::span<const double> x) { return std::inner_product(a.begin(), a.end(), x.begin(), 9.0); };
  const std::vector<double> gradient = strategy.Gradient(candidates, LossesOf(candidates, kN, loss));
  EXPECT_THAT(gradient, Pointwise(DoubleNear(0.01), expected));
}

TEST(OpenAiEs, WhatBothSidesOfEachPairHaveInCommonMovesNothing) {
  OpenAiEs strategy(std::vector<double>{1, 2, 3}, EvenSpread(3, 0.5), {});
  Rng rng(6);
  const std::vector<double> candidates = Draw(strategy, 8, rng);
  const auto even = [](std::span<const double> x) { return std::round(1e6 * std::pow(x[0] - 1, 2)); };
  strategy.Update(candidates, LossesOf(candidates, 3, even));
  EXPECT_THAT(strategy.mean(), Pointwise(DoubleNear(1e-6), {1.0, 2.0, 3.0}));
}

// The paper's algorithm for equal, independent parameters, with Adam as its authors write it (algorithm 1).
TEST(OpenAiEs, DoesWhatThePaperSays) {
  constexpr size_t kN = 3;
  constexpr double kSigma = 0.2;
  constexpr double kRate = 0.3;
  OpenAiEs strategy(std::vector<double>(kN, 0.0), EvenSpread(kN, kSigma), {.learning_rate = kRate});
  Rng rng(12);
  std::vector<double> theta(kN, 0.0);
  std::vector<double> m(kN, 0.0);
  std::vector<double> v(kN, 0.0);
  for (int t = 1; t <= 20; ++t) {
    const std::vector<double> candidates = Draw(strategy, 5, rng);
    const std::vector<double> losses = LossesOf(candidates, kN, Bowl);
    std::vector<double> g(kN, 0.0);
    for (size_t k = 0; k < losses.size(); ++k) {
      const auto lower = std::ranges::count_if(losses, [&](double loss) { return loss < losses[k]; });
      const double shaped = static_cast<double>(lower) / 9 - 0.5;
      for (size_t i = 0; i < kN; ++i) g[i] += shaped * (candidates[k * kN + i] - theta[i]) / (10 * kSigma);
    }
    for (size_t i = 0; i < kN; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
      theta[i] -=
          kRate * kSigma * (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
    }
    strategy.Update(candidates, losses);
    ASSERT_THAT(strategy.mean(), Pointwise(DoubleNear(1e-5), theta)) << "generation " << t;
  }
}

TEST(OpenAiEs, FindsTheBottomOfABowlAsItsSpreadDecays) {
  Rng rng(3);
  OpenAiEs strategy(std::vector<double>(20, 0.0), EvenSpread(20, 0.3), {.learning_rate = 0.3, .spread_decay = 0.995});
  Evolve(strategy, 1000, rng, Bowl);
  for (const double x : strategy.mean()) EXPECT_NEAR(x, 1, 0.02);
  EXPECT_NEAR(strategy.Spread().front(), 0.3 * std::pow(0.995, 1000), 1e-6);
}

TEST(OpenAiEs, NeedsOnlyTheOrderOfTheLosses) {
  Rng rng(5);
  Rng same(5);
  OpenAiEs plain(std::vector<double>(4, 0.5), EvenSpread(4, 0.3), {});
  OpenAiEs bent(std::vector<double>(4, 0.5), EvenSpread(4, 0.3), {});
  Evolve(plain, 20, rng, Bowl);
  Evolve(bent, 20, same, [](std::span<const double> x) { return std::log(Bowl(x)) - 7; });
  EXPECT_EQ(plain.mean(), bent.mean());
}

TEST(OpenAiEs, LeavesAParameterAloneThatItDoesNotSpread) {
  std::vector<double> spread = EvenSpread(3, 0.3);
  spread[4] = 0;
  OpenAiEs strategy(std::vector<double>{0, 0.25, 0}, spread, {});
  Rng rng(2);
  Evolve(strategy, 10, rng, Bowl);
  EXPECT_EQ(strategy.mean()[1], 0.25);
  EXPECT_NE(strategy.mean()[0], 0);
}

TEST(OpenAiEs, GoesOnFromItsStateBitForBit) {
  const OpenAiEsOptions options = {.learning_rate = 0.2, .spread_decay = 0.99};
  Rng rng(9);
  OpenAiEs whole(std::vector<double>(4, 0.0), EvenSpread(4, 0.5), options);
  Evolve(whole, 10, rng, Bowl);
  OpenAiEs resumed(std::vector<double>(4, 7.0), EvenSpread(4, 1), options);
  resumed.LoadState(whole.SaveState());
  Rng rest = Rng::FromState(rng.seed(), rng.state());
  Evolve(whole, 10, rng, Bowl);
  Evolve(resumed, 10, rest, Bowl);
  EXPECT_EQ(whole.mean(), resumed.mean());
  EXPECT_EQ(whole.Spread(), resumed.Spread());
}

TEST(OpenAiEs, RefusesAStateThatIsNoneAndKeepsItsOwn) {
  OpenAiEs strategy(std::vector<double>(4, 0.5), EvenSpread(4, 0.5), {});
  EXPECT_THROW(strategy.LoadState({}), Error);
  EXPECT_THROW(strategy.LoadState(Cma(std::vector<double>(4, 0.0), EvenSpread(4, 0.5)).SaveState()), Error);
  EXPECT_THROW(strategy.LoadState(OpenAiEs(std::vector<double>(3, 0.0), EvenSpread(3, 0.5), {}).SaveState()), Error);
  UpdaterState state = OpenAiEs(std::vector<double>(4, 0.0), EvenSpread(4, 0.1), {}).SaveState();
  state.adam.variance[2] = -1;
  EXPECT_THROW(strategy.LoadState(state), Error);
  EXPECT_EQ(strategy.mean(), std::vector<double>(4, 0.5));
  EXPECT_EQ(strategy.Spread(), EvenSpread(4, 0.5));
}

}  // namespace
}  // namespace emplace
