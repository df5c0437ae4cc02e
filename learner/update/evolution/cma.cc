#include "learner/update/evolution/cma.h"

#include <Eigen/Dense>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

// The names of these numbers in checkpoints.
constexpr char kMean[] = "cma.mean";
constexpr char kStepSize[] = "cma.step_size";
constexpr char kCovariance[] = "cma.covariance";
constexpr char kStepPath[] = "cma.step_path";
constexpr char kCovariancePath[] = "cma.covariance_path";
constexpr char kGenerations[] = "cma.generations";

// Directions in which the distribution has hardly any width would make steps in them infinite.
constexpr double kLeastVariance = 1e-14;

// The constants of a population (table 1).
struct CmaConstants {
  CmaConstants(size_t dimensions, size_t population) {
    const auto n = static_cast<double>(dimensions);
    const auto lambda = static_cast<double>(population);
    parents = population / 2;
    for (size_t i = 0; i < population; ++i) {
      weights.push_back(std::log((lambda + 1) / 2) - std::log(static_cast<double>(i + 1)));
    }
    const auto effective = [](auto begin, auto end) {
      const double sum = std::accumulate(begin, end, 0.0);
      return sum * sum / std::inner_product(begin, end, begin, 0.0);
    };
    const auto middle = weights.begin() + static_cast<std::ptrdiff_t>(parents);
    mu_eff = effective(weights.begin(), middle);
    const double mu_eff_minus = effective(middle, weights.end());
    c_1 = 2 / ((n + 1.3) * (n + 1.3) + mu_eff);
    c_mu = std::min(1 - c_1 - 1e-8, 2 * (mu_eff - 2 + 1 / mu_eff) / ((n + 2) * (n + 2) + mu_eff));
    const double least = std::min({1 + c_1 / c_mu, 1 + 2 * mu_eff_minus / (mu_eff + 2), (1 - c_1 - c_mu) / (n * c_mu)});
    double positive = 0;
    double negative = 0;
    for (const double weight : weights) (weight > 0 ? positive : negative) += std::abs(weight);
    for (double& weight : weights) weight *= weight >= 0 ? 1 / positive : least / negative;
    c_sigma = (mu_eff + 2) / (n + mu_eff + 5);
    d_sigma = 1 + 2 * std::max(0.0, std::sqrt((mu_eff - 1) / (n + 1)) - 1) + c_sigma;
    c_c = (4 + mu_eff / n) / (n + 4 + 2 * mu_eff / n);
    chi_n = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  }

  size_t parents = 0;
  std::vector<double> weights;  // [population] of the best candidate first.
  double mu_eff = 0;
  double c_1 = 0;
  double c_mu = 0;
  double c_sigma = 0;
  double d_sigma = 0;
  double c_c = 0;
  double chi_n = 0;  // Mean length of a vector of N standard normal numbers.
};

Eigen::Map<const Matrix> AsMatrix(std::span<const double> values, size_t columns) {
  const auto width = static_cast<Eigen::Index>(columns);
  return {values.data(), static_cast<Eigen::Index>(values.size()) / width, width};
}

Eigen::Map<const Vector> AsVector(std::span<const double> values) { return {values.data(), std::ssize(values)}; }

// C^power by its eigenvalues.
Matrix PowerOf(std::span<const double> covariance, size_t n, double power) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen{Eigen::MatrixXd(AsMatrix(covariance, n))};
  const Vector values = eigen.eigenvalues().cwiseMax(kLeastVariance).array().pow(power);
  return eigen.eigenvectors() * values.asDiagonal() * eigen.eigenvectors().transpose();
}

}  // namespace

Cma::Cma(std::span<const double> mean, std::span<const double> spread) {
  const size_t n = mean.size();
  EMPLACE_CHECK(n > 0 && spread.size() == n * n);
  state_.mean.assign(mean.begin(), mean.end());
  const Matrix square = AsMatrix(spread, n) * AsMatrix(spread, n).transpose();
  state_.covariance.assign(square.data(), square.data() + square.size());
  state_.step_path.assign(n, 0);
  state_.covariance_path.assign(n, 0);
}

void Cma::Update(std::span<const double> candidates, std::span<const double> losses) {
  const size_t n = size();
  const size_t population = losses.size();
  EMPLACE_CHECK(population >= 2 && candidates.size() == population * n);
  const CmaConstants c(n, population);
  std::vector<size_t> order(population);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return losses[i]; });

  Vector mean = AsVector(state_.mean);
  Matrix steps(population, n);  // y, the best first.
  for (size_t i = 0; i < population; ++i) {
    steps.row(static_cast<Eigen::Index>(i)) =
        (AsVector(candidates.subspan(order[i] * n, n)) - mean).transpose() / state_.step_size;
  }
  Vector mean_step = Vector::Zero(static_cast<Eigen::Index>(n));
  for (size_t i = 0; i < c.parents; ++i) {
    mean_step += c.weights[i] * steps.row(static_cast<Eigen::Index>(i)).transpose();
  }
  mean += state_.step_size * mean_step;

  // Step size (equations 43 and 44).
  const Matrix whitening = PowerOf(state_.covariance, n, -0.5);
  const Vector step_path = (1 - c.c_sigma) * AsVector(state_.step_path) +
                           std::sqrt(c.c_sigma * (2 - c.c_sigma) * c.mu_eff) * (whitening * mean_step);
  const double length = step_path.norm();
  ++state_.generations;
  const double settled = 1 - std::pow(1 - c.c_sigma, 2 * static_cast<double>(state_.generations + 1));
  const bool short_path = length / std::sqrt(settled) < (1.4 + 2 / (static_cast<double>(n) + 1)) * c.chi_n;

  // Covariance (equations 45 to 47).
  const double h_sigma = short_path ? 1 : 0;
  const Vector path =
      (1 - c.c_c) * AsVector(state_.covariance_path) + h_sigma * std::sqrt(c.c_c * (2 - c.c_c) * c.mu_eff) * mean_step;
  Matrix rank_mu = Matrix::Zero(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(n));
  double weights = 0;
  for (size_t i = 0; i < population; ++i) {
    const Vector step = steps.row(static_cast<Eigen::Index>(i));
    double weight = c.weights[i];
    weights += weight;
    if (weight < 0) weight *= static_cast<double>(n) / ((whitening * step).squaredNorm() + 1e-8);
    rank_mu += weight * step * step.transpose();
  }
  const double kept = 1 + c.c_1 * (1 - h_sigma) * c.c_c * (2 - c.c_c) - c.c_1 - c.c_mu * weights;
  Matrix covariance = kept * AsMatrix(state_.covariance, n) + c.c_1 * path * path.transpose() + c.c_mu * rank_mu;
  covariance = (covariance + covariance.transpose()).eval() / 2;

  state_.step_size *= std::exp(c.c_sigma / c.d_sigma * (length / c.chi_n - 1));
  state_.mean.assign(mean.begin(), mean.end());
  state_.covariance.assign(covariance.data(), covariance.data() + covariance.size());
  state_.step_path.assign(step_path.begin(), step_path.end());
  state_.covariance_path.assign(path.begin(), path.end());
}

std::vector<double> Cma::Spread() const {
  const Matrix root = state_.step_size * PowerOf(state_.covariance, size(), 0.5);
  return {root.data(), root.data() + root.size()};
}

UpdaterState Cma::SaveState() const {
  UpdaterState saved;
  const auto add = [&](const char* name, std::vector<int64_t> shape, std::span<const double> values) {
    saved.objective.tensors.push_back(SafetensorsTensor::Of<double>(name, std::move(shape), values));
  };
  const int64_t n = std::ssize(state_.mean);
  add(kMean, {n}, state_.mean);
  add(kStepSize, {1}, std::span(&state_.step_size, 1));
  add(kCovariance, {n, n}, state_.covariance);
  add(kStepPath, {n}, state_.step_path);
  add(kCovariancePath, {n}, state_.covariance_path);
  saved.objective.tensors.push_back(
      SafetensorsTensor::Of<int64_t>(kGenerations, {1}, std::span(&state_.generations, 1)));
  return saved;
}

void Cma::LoadState(const UpdaterState& state) {
  const std::string source = "state of CMA-ES";
  const auto doubles = [&](const char* name) { return state.objective.Get(name, source).Values<double>(source); };
  const std::vector<double> step_size = doubles(kStepSize);
  const std::vector<int64_t> generations = state.objective.Get(kGenerations, source).Values<int64_t>(source);
  if (step_size.size() != 1 || generations.size() != 1) throw BadInput(source + ": expected one step size");
  Load({.mean = doubles(kMean),
        .step_size = step_size.front(),
        .covariance = doubles(kCovariance),
        .step_path = doubles(kStepPath),
        .covariance_path = doubles(kCovariancePath),
        .generations = generations.front()});
}

void Cma::Load(CmaState state) {
  const size_t n = size();
  const bool fits = state.mean.size() == n && state.covariance.size() == n * n && state.step_path.size() == n &&
                    state.covariance_path.size() == n;
  if (!fits) throw BadInput(StrCat("state of CMA-ES of ", state.mean.size(), " parameters, expected ", n));
  if (!AllFinite(state.mean) || !AllFinite(state.covariance) || !AllFinite(state.step_path) ||
      !AllFinite(state.covariance_path) || !std::isfinite(state.step_size) || state.step_size <= 0 ||
      state.generations < 0) {
    throw BadInput("state of CMA-ES: a number is not finite, or the step size is not above 0");
  }
  state_ = std::move(state);
}

}  // namespace emplace
