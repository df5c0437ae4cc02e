// Self-imitation: the best episode on each graph so far, from its start to its end, for updates to repeat (the idea is
// Oh et al., "Self-Imitation Learning", ICML 2018). Where good placements need many groups moved together, as a branch
// of a convolutional network forward and backward, an episode that happens on one is rare, and its advantage is spread
// over steps that mostly did not matter; imitated, it counts until a better one comes.
#pragma once

#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "common/trajectory.h"

namespace emplace {

struct BestEpisode {
  std::vector<uint8_t> start_placement;  // [n]
  std::vector<uint8_t> actions;          // [n]; empty: there is none yet
  float rho = 0;                         // At its end: the lower the better.
  bool operator==(const BestEpisode&) const = default;
};

// Not thread-safe.
class BestEpisodes {
 public:
  explicit BestEpisodes(size_t graphs) : best_(graphs) {}

  // REQUIRES: each has passed CheckTrajectory.
  void Consider(const std::vector<Trajectory>& batch);
  // `count` times the best episode of some graph that has one, drawn with `rng`; fewer only when no graph has. What
  // they say of their behaviour policy is that it would have chosen each action.
  std::vector<Trajectory> Draw(int64_t count, Rng& rng) const;

  // For checkpoints: [graphs].
  const std::vector<BestEpisode>& best() const { return best_; }
  // `steps` [graphs]: n of each graph; devices: how many there are. Throws BadInput when sizes or devices do not fit;
  // then nothing has changed.
  void Load(std::vector<BestEpisode> best, const std::vector<int32_t>& steps, int32_t devices);

 private:
  std::vector<BestEpisode> best_;
};

}  // namespace emplace
