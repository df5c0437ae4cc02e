// CMA-ES: a normal distribution over vectors of N numbers that moves to where a function of them is least. It needs
// nothing but the order of the candidates of a generation. As in N. Hansen, "The CMA Evolution Strategy: A Tutorial"
// (arXiv 1604.00772, 2016), figure 6, with negative weights too; equation numbers below are of that text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

// Not thread-safe. All numbers are computed in double, in a fixed order: equal calls give equal bits.
class Cma {
 public:
  // The first candidates are normal around `mean` with the covariance of spread * spread^T. spread: [N, N]. REQUIRES:
  // it is symmetric and positive definite; N > 0.
  Cma(std::span<const double> mean, std::span<const double> spread);

  // Moves the distribution. candidates: [population, N] drawn from it; losses: [population] what they are worth, the
  // lower the better; the first of equals counts as better. REQUIRES: the population is at least 2, and the same in
  // each generation; every number is finite.
  void Update(std::span<const double> candidates, std::span<const double> losses);

  // mean + Spread() * z is a candidate, where z are N independent standard normal numbers. Symmetric: sigma * sqrt(C).
  std::vector<double> Spread() const;
  const CmaState& state() const { return state_; }
  // Throws BadInput for a state of another N, and for one that is no distribution; nothing has changed then.
  void Load(CmaState state);

 private:
  size_t size() const { return state_.mean.size(); }

  CmaState state_;
};

}  // namespace emplace
