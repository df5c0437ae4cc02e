// OpenAI-ES: estimates the gradient of the mean loss of candidates by the candidates themselves, and moves the mean
// against it by Adam. As in T. Salimans et al., "Evolution Strategies as a Scalable Alternative to Reinforcement
// Learning" (arXiv 1703.03864, 2017), with ranks in place of losses. The spread is given, not learned, so that an
// update takes time in proportion to N^2, as each draw does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learner/update/evolution/evolution_strategy.h"

namespace emplace {

struct OpenAiEsOptions {
  double learning_rate = 0.3;  // Of Adam, in standard deviations of each parameter over the candidates.
  double spread_decay = 1;     // Each generation multiplies the spread by it.
};

// [population] From -0.5 for the least loss to 0.5 for the greatest, in equal steps; equal losses share the mean of
// theirs. Their sum is 0. REQUIRES: there are at least 2 losses.
std::vector<double> CenteredRanks(std::span<const double> losses);

// Works best where candidates 2k and 2k + 1 are on opposite sides of the mean: what a pair has in common then says
// nothing, as it should.
class OpenAiEs final : public EvolutionStrategy {
 public:
  // spread: [N, N]. A parameter that it does not spread stays as it is. REQUIRES: N > 0.
  OpenAiEs(std::span<const double> mean, std::span<const double> spread, const OpenAiEsOptions& options);

  void Update(std::span<const double> candidates, std::span<const double> losses) override;
  const std::vector<double>& mean() const override { return mean_; }
  std::vector<double> Spread() const override { return spread_; }
  UpdaterState SaveState() const override;
  void LoadState(const UpdaterState& state) override;

  // [N] The estimate by which Update goes: the mean over candidates of the centered rank times the distance from the
  // mean, in deviations of the parameter. As of Update.
  std::vector<double> Gradient(std::span<const double> candidates, std::span<const double> losses) const;

 private:
  std::vector<double> Deviations() const;  // [N] of the parameters over the candidates.

  const OpenAiEsOptions options_;
  std::vector<double> mean_;    // [N]
  std::vector<double> spread_;  // [N, N]
  AdamState adam_;
};

}  // namespace emplace
