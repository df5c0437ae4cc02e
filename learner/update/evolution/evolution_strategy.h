// The rule by which evolution moves a normal distribution over vectors of N numbers to where a function of them is
// least.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "learner/update/updater.h"

namespace emplace {

// Not thread-safe. All numbers are computed in double, in a fixed order: equal calls give equal bits.
class EvolutionStrategy {
 public:
  virtual ~EvolutionStrategy() = default;

  // Moves the distribution. candidates: [population, N] drawn from it, row by row; losses: [population] what they are
  // worth, the lower the better; their order alone counts. REQUIRES: the population is at least 2, and the same in each
  // generation; every number is finite.
  virtual void Update(std::span<const double> candidates, std::span<const double> losses) = 0;

  // mean() + Spread() * z is a candidate, where z are N independent standard normal numbers. Spread: [N, N], row-major.
  virtual const std::vector<double>& mean() const = 0;  // [N]
  virtual std::vector<double> Spread() const = 0;

  // All that the next generation depends on.
  virtual UpdaterState SaveState() const = 0;
  // Throws BadInput for a state of another N or another strategy, and for one that is no distribution; nothing has
  // changed then.
  virtual void LoadState(const UpdaterState& state) = 0;
};

// Whether each number of a restored state is finite.
template <typename Numbers>
bool AllFinite(const Numbers& numbers) {
  return std::ranges::all_of(numbers, [](auto number) { return std::isfinite(number); });
}

}  // namespace emplace
