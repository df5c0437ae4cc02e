#include "learner/update/evolution/cma.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/rng.h"

namespace emplace {
namespace {

std::vector<double> Diagonal(size_t n, double value) {
  std::vector<double> matrix(n * n, 0.0);
  for (size_t i = 0; i < n; ++i) matrix[i * n + i] = value;
  return matrix;
}

// sigma^2 * C.
std::vector<double> CovarianceOf(const CmaState& state) {
  std::vector<double> covariance = state.covariance;
  for (double& value : covariance) value *= state.step_size * state.step_size;
  return covariance;
}

void ExpectNear(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "entry " << i;
  }
}

// Candidates of a generation, [population, n].
std::vector<double> Draw(const Cma& cma, size_t population, Rng& rng) {
  const std::vector<double> spread = cma.Spread();
  const std::vector<double>& mean = cma.state().mean;
  std::vector<double> candidates;
  for (size_t k = 0; k < population; ++k) {
    std::vector<double> z(mean.size());
    for (double& number : z) number = rng.Normal();
    for (size_t i = 0; i < mean.size(); ++i) {
      double value = mean[i];
      for (size_t j = 0; j < z.size(); ++j) value += spread[i * z.size() + j] * z[j];
      candidates.push_back(value);
    }
  }
  return candidates;
}

template <typename Loss>
void Evolve(Cma& cma, size_t population, int generations, Rng& rng, Loss&& loss) {
  const size_t n = cma.state().mean.size();
  for (int generation = 0; generation < generations; ++generation) {
    const std::vector<double> candidates = Draw(cma, population, rng);
    std::vector<double> losses;
    for (size_t k = 0; k < population; ++k) losses.push_back(loss(std::span(candidates).subspan(k * n, n)));
    cma.Update(candidates, losses);
  }
}

double Rosenbrock(std::span<const double> x) {
  double sum = 0;
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    sum += 100 * std::pow(x[i + 1] - x[i] * x[i], 2) + std::pow(1 - x[i], 2);
  }
  return sum;
}

// The package cmaes has computed these (make_cma_golden.py).
TEST(Cma, DoesWhatAnIndependentOneDoes) {
  const auto golden = nlohmann::json::parse(ReadFile(EMPLACE_GOLDEN_CMA));
  const auto n = golden.at("parameters").get<size_t>();
  Cma cma(std::vector<double>(n, 0.0), Diagonal(n, golden.at("sigma").get<double>()));
  for (const auto& generation : golden.at("generations")) {
    cma.Update(generation.at("candidates").get<std::vector<double>>(),
               generation.at("losses").get<std::vector<double>>());
    ExpectNear(cma.state().mean, generation.at("mean").get<std::vector<double>>(), 1e-9);
    ExpectNear(CovarianceOf(cma.state()), generation.at("covariance").get<std::vector<double>>(), 1e-9);
  }
}

TEST(Cma, FindsTheEndOfABentValley) {
  Rng rng(3);
  Cma cma(std::vector<double>(6, 0.0), Diagonal(6, 0.5));
  Evolve(cma, 12, 400, rng, Rosenbrock);
  for (const double x : cma.state().mean) EXPECT_NEAR(x, 1, 1e-3);
}

TEST(Cma, NeedsOnlyTheOrderOfTheLosses) {
  Rng rng(5);
  Rng same(5);
  Cma plain(std::vector<double>(4, 0.5), Diagonal(4, 0.3));
  Cma bent(std::vector<double>(4, 0.5), Diagonal(4, 0.3));
  Evolve(plain, 9, 20, rng, Rosenbrock);
  Evolve(bent, 9, 20, same, [](std::span<const double> x) { return std::atan(Rosenbrock(x)) - 7; });
  EXPECT_EQ(plain.state().mean, bent.state().mean);
  EXPECT_EQ(plain.state().covariance, bent.state().covariance);
}

TEST(Cma, SpreadIsTheRootOfTheCovariance) {
  Rng rng(8);
  Cma cma(std::vector<double>(5, 0.0), Diagonal(5, 0.5));
  Evolve(cma, 10, 30, rng, Rosenbrock);
  const std::vector<double> spread = cma.Spread();
  std::vector<double> square(25, 0.0);
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 5; ++j) {
      EXPECT_NEAR(spread[i * 5 + j], spread[j * 5 + i], 1e-12);
      for (size_t k = 0; k < 5; ++k) square[i * 5 + j] += spread[i * 5 + k] * spread[k * 5 + j];
    }
  }
  ExpectNear(square, CovarianceOf(cma.state()), 1e-9);
}

TEST(Cma, GoesOnFromItsState) {
  Rng rng(9);
  Cma whole(std::vector<double>(4, 0.0), Diagonal(4, 0.5));
  Evolve(whole, 8, 10, rng, Rosenbrock);
  Cma resumed(std::vector<double>(4, 0.0), Diagonal(4, 1));
  resumed.Load(whole.state());
  Rng rest = Rng::FromState(rng.seed(), rng.state());
  Evolve(whole, 8, 10, rng, Rosenbrock);
  Evolve(resumed, 8, 10, rest, Rosenbrock);
  EXPECT_EQ(whole.state().mean, resumed.state().mean);
  EXPECT_EQ(whole.state().step_path, resumed.state().step_path);
}

// Checkpoints of earlier versions have these names, and nothing of Adam.
TEST(Cma, ItsStateInACheckpointHasTheNamesThatItAlwaysHad) {
  Rng rng(4);
  Cma cma(std::vector<double>(2, 0.0), Diagonal(2, 0.5));
  Evolve(cma, 6, 3, rng, Rosenbrock);
  const CmaState& state = cma.state();
  UpdaterState saved;
  const auto add = [&](const char* name, std::vector<int64_t> shape, std::span<const double> values) {
    saved.objective.tensors.push_back(SafetensorsTensor::Of<double>(name, std::move(shape), values));
  };
  add("cma.mean", {2}, state.mean);
  add("cma.step_size", {1}, std::span(&state.step_size, 1));
  add("cma.covariance", {2, 2}, state.covariance);
  add("cma.step_path", {2}, state.step_path);
  add("cma.covariance_path", {2}, state.covariance_path);
  saved.objective.tensors.push_back(
      SafetensorsTensor::Of<int64_t>("cma.generations", {1}, std::span(&state.generations, 1)));
  EXPECT_EQ(SerializeSafetensors(cma.SaveState().objective), SerializeSafetensors(saved.objective));
  EXPECT_TRUE(cma.SaveState().adam.mean.empty());

  Cma loaded(std::vector<double>(2, 9.0), Diagonal(2, 3));
  loaded.LoadState(saved);
  Rng rest = Rng::FromState(rng.seed(), rng.state());
  Evolve(cma, 6, 3, rng, Rosenbrock);
  Evolve(loaded, 6, 3, rest, Rosenbrock);
  EXPECT_EQ(loaded.state().covariance, cma.state().covariance);
}

TEST(Cma, RefusesAStateThatIsNone) {
  Cma cma(std::vector<double>(4, 0.0), Diagonal(4, 0.5));
  CmaState state = cma.state();
  state.mean.pop_back();
  EXPECT_THROW(cma.Load(state), Error);
  state = cma.state();
  state.step_size = 0;
  EXPECT_THROW(cma.Load(state), Error);
  state = cma.state();
  state.covariance[3] = std::nan("");
  EXPECT_THROW(cma.Load(state), Error);
}

}  // namespace
}  // namespace emplace
