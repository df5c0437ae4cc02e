// Baselines of REINFORCE: for each (graph, step) the mean return-to-go of recent episodes on that graph (design,
// section 5; Placeto, section 3.3). The episodes of the batch at hand count too, but for the one that is judged: so a
// graph's first batch has a baseline as well, and no episode is compared with itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/trajectory.h"

namespace emplace {

// G_t = r_t + discount * G_{t+1}, r_t = rho(s_t) - rho(s_{t+1}); [n]. With a discount of 1, G_t = rho(s_t) - rho(s_n).
std::vector<float> ReturnsToGo(const Trajectory& trajectory, double discount);

// Not thread-safe.
class Baselines {
 public:
  // discount: in (0, 1], of the returns.
  Baselines(size_t graphs, int64_t window, double discount);

  // G_t - baseline, [batch][n], then takes the batch into the windows. A graph's lone first episode gets zeros.
  std::vector<std::vector<float>> AdvantagesThenAdd(const std::vector<Trajectory>& batch);

  // For checkpoints: for each graph its window's returns, oldest first, [episodes * n].
  std::vector<std::vector<float>> Save() const;
  // `steps` [graphs]: n of each graph. Throws BadInput when sizes do not fit; then nothing has changed.
  void Load(const std::vector<std::vector<float>>& saved, const std::vector<int32_t>& steps);

 private:
  int64_t window_;
  double discount_;
  std::vector<std::deque<std::vector<float>>> recent_;  // [graphs] oldest first, each [n]
};

}  // namespace emplace
