// The numbers by which advantages are divided, so that the size of the rewards does not change the optimizer's steps.
// They are 1, the standard deviation over the batch, or, for each graph, the root mean square of its recent advantages.
// The last is for workloads whose graphs differ: where some graphs run out of memory, their penalties are a hundred
// times the gains on the other graphs, and the policy would learn nothing about those. A graph's mean square rises
// 2,000-fold in a batch at most, so that one false or freak reward is soon forgotten.
#pragma once

#include <cstddef>
#include <vector>

#include "common/trajectory.h"
#include "policy/config/run_config.h"

namespace emplace {

// Not thread-safe.
class AdvantageScale {
 public:
  // `unit` is training.normalize_advantages.
  AdvantageScale(AdvantageUnit unit, size_t graphs);

  // Returns the factor of each episode's advantages, [batch]. advantages: [batch][n]; those that are not finite do not
  // count in a graph's scale. `spread` is their StandardDeviation.
  std::vector<double> Factors(const std::vector<Trajectory>& batch, const std::vector<std::vector<float>>& advantages,
                              double spread);

  // For checkpoints: the running mean square of each graph's advantages, [graphs]; 0: there are none yet.
  const std::vector<double>& mean_squares() const { return mean_squares_; }
  void Load(std::vector<double> mean_squares);  // Throws BadInput when the size does not fit.

 private:
  void AddToGraphs(const std::vector<Trajectory>& batch, const std::vector<std::vector<float>>& advantages);

  const AdvantageUnit unit_;
  std::vector<double> mean_squares_;
};

// The standard deviation over all entries; 0 when there are none.
double StandardDeviation(const std::vector<std::vector<float>>& rows);

}  // namespace emplace
