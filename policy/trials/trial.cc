#include "policy/trials/trial.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "common/rng.h"

namespace emplace {

Trial TrialOf(const RunConfig& config, size_t graphs, PolicyVersion version, uint32_t index) {
  EMPLACE_CHECK(int64_t{index} < config.training.episodes_per_update);
  const EvolutionConfig& evolution = config.evolution;
  const int64_t place = int64_t{index} / evolution.population;  // Of the problem, among the generation's.
  const auto problems = static_cast<uint64_t>(config.training.episodes_per_update / evolution.population);
  const uint64_t number = version * problems + static_cast<uint64_t>(place);
  Rng rng = Rng(config.seed).Fork("budget", number);
  const double least = std::log(static_cast<double>(evolution.least_budget));
  const double most = std::log(static_cast<double>(evolution.most_budget) + 1);
  const auto budget = static_cast<int64_t>(std::exp(rng.Uniform(least, most)));
  return {.candidate = int64_t{index} % evolution.population,
          .problem = graphs > 0 ? number % graphs : number,
          .budget = std::clamp(budget, evolution.least_budget, evolution.most_budget)};
}

}  // namespace emplace
