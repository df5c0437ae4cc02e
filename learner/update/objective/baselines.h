// Baselines of policy gradients: for each graph and step, the mean return-to-go of recent episodes on that graph
// (Placeto, section 3.3). Episodes of the same batch count too, but an episode does not count in its own baseline. So a
// graph's first batch has a baseline as well, and no episode is compared with itself. Or, with BaselineKind::kBatch,
// the mean over the other episodes of the batch with the same graph and start alone, which needs several of them.
//
// Measured rewards are compared with measured ones alone, and simulated with simulated: hardware and the simulator
// differ systematically, and what an action was worth would drown in that difference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/trajectory.h"
#include "policy/config/run_config.h"

namespace emplace {

// The returns-to-go G_t of an episode, [n]: G_t = r_t + discount * G_{t+1}, where r_t = rho(s_t) - rho(s_{t+1}). With a
// discount of 1, G_t = rho(s_t) - rho(s_n). Of an episode that is rewarded at its end alone, [1]: -rho.
std::vector<float> ReturnsToGo(const Trajectory& trajectory, double discount);

// Not thread-safe.
class Baselines {
 public:
  // `window` is the number of recent episodes of each graph and claim, which kBatch does without; `discount` is that of
  // the returns, in (0, 1].
  Baselines(size_t graphs, BaselineKind kind, int64_t window, double discount);

  // Returns the advantages G_t - baseline, [batch][n], and adds the batch to the windows. The advantages of an
  // episode that there is nothing to compare with, such as the first of its graph, are 0.
  std::vector<std::vector<float>> AdvantagesThenAdd(const std::vector<Trajectory>& batch);

  // For checkpoints: the returns in each graph's windows, oldest first, [graphs][episodes * n] each.
  struct Returns {
    std::vector<std::vector<float>> simulated;
    std::vector<std::vector<float>> measured;
    bool operator==(const Returns&) const = default;
  };
  Returns Save() const;
  // `steps` is n of each graph, [graphs]. Throws BadInput when sizes do not fit; nothing has changed then.
  void Load(const Returns& saved, const std::vector<int32_t>& steps);

 private:
  using Window = std::deque<std::vector<float>>;  // Oldest first, each [n].

  Window& WindowOf(const Trajectory& episode);

  BaselineKind kind_;
  int64_t window_;
  double discount_;
  std::vector<Window> simulated_;  // [graphs]
  std::vector<Window> measured_;   // [graphs]
};

}  // namespace emplace
