// What advantages are divided by, so that a step of the optimizer means the same whatever the unit of the rewards:
// nothing, the standard deviation over the batch, or, each graph by itself, the root mean square of its recent
// advantages. The last is for workloads whose graphs differ: where some run out of memory, their penalties are a
// hundred times what a placement gains on the others, which would learn nothing for as long.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/trajectory.h"

namespace emplace {

// Not thread-safe.
class AdvantageScale {
 public:
  // mode: training.normalize_advantages, "none", "batch" or "graph".
  AdvantageScale(const std::string& mode, size_t graphs);

  // [batch] the factor of each episode's advantages. advantages: [batch][n]; those that are not finite do not count in
  // a graph's scale. spread: their StandardDeviation.
  std::vector<double> Factors(const std::vector<Trajectory>& batch, const std::vector<std::vector<float>>& advantages,
                              double spread);

  // For checkpoints: [graphs] the running mean square of each, 0: none yet.
  const std::vector<double>& mean_squares() const { return mean_squares_; }
  void Load(std::vector<double> mean_squares);  // Throws BadInput when the size does not fit.

 private:
  void AddToGraphs(const std::vector<Trajectory>& batch, const std::vector<std::vector<float>>& advantages);

  const std::string mode_;
  std::vector<double> mean_squares_;
};

// Over all entries; 0 where there are none.
double StandardDeviation(const std::vector<std::vector<float>>& rows);

}  // namespace emplace
