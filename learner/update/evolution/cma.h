// CMA-ES: learns the covariance of the distribution as well as its mean. As in N. Hansen, "The CMA Evolution Strategy:
// A Tutorial" (arXiv 1604.00772, 2016), figure 6, with negative weights too; equation numbers in the source are of that
// text. An update takes time in proportion to N^3.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learner/update/evolution/evolution_strategy.h"

namespace emplace {

// All that the next generation depends on. Row-major matrices.
struct CmaState {
  std::vector<double> mean;             // [N]
  double step_size = 1;                 // sigma
  std::vector<double> covariance;       // [N, N] C: symmetric.
  std::vector<double> step_path;        // [N] p_sigma
  std::vector<double> covariance_path;  // [N] p_c
  int64_t generations = 0;              // So far.
};

class Cma final : public EvolutionStrategy {
 public:
  // The first candidates are normal around `mean` with the covariance of spread * spread^T. spread: [N, N]. REQUIRES:
  // it is symmetric and positive definite; N > 0.
  Cma(std::span<const double> mean, std::span<const double> spread);

  // The first of equal losses counts as better.
  void Update(std::span<const double> candidates, std::span<const double> losses) override;
  const std::vector<double>& mean() const override { return state_.mean; }
  std::vector<double> Spread() const override;  // Symmetric: sigma * sqrt(C).
  UpdaterState SaveState() const override;
  void LoadState(const UpdaterState& state) override;

  const CmaState& state() const { return state_; }
  void Load(CmaState state);  // As of LoadState.

 private:
  size_t size() const { return state_.mean.size(); }

  CmaState state_;
};

}  // namespace emplace
