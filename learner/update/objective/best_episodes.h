// Self-imitation: the best placement of each graph that any episode has passed through so far, as an episode from the
// same start that ends there, for updates to repeat (the idea is Oh et al., "Self-Imitation Learning", ICML 2018).
// Where good placements need many groups moved together, as a branch of a convolutional network forward and backward,
// an episode that happens on one is rare, and its advantage is spread over steps that mostly did not matter; imitated,
// it counts until a better one comes.
#pragma once

#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "common/trajectory.h"
#include "policy/policy_kind.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct BestEpisode {
  std::vector<uint8_t> start_placement;  // [n]
  std::vector<uint8_t> actions;          // [n] the placement that it ends in; empty: there is none yet
  float rho = 0;                         // Of that placement: the lower the better.
  bool operator==(const BestEpisode&) const = default;
};

// Not thread-safe.
class BestEpisodes {
 public:
  // REQUIRES: tasks outlive it; index = GraphId.
  BestEpisodes(const std::vector<PlacementTask>& tasks, const PolicyKind& kind)
      : tasks_(tasks), kind_(kind), best_(tasks.size()) {}

  // Takes the best placement after any step of these episodes where it beats the best so far and fits the devices'
  // memory, which it simulates to know: rho has a penalty for memory, but one that a short makespan can outweigh.
  // REQUIRES: each has passed CheckShape.
  void Consider(const std::vector<Trajectory>& batch);
  // `count` times the best episode of some graph that has one, drawn with `rng`; fewer only when no graph has. What
  // they say of their behaviour policy is that it would have chosen each action.
  std::vector<Trajectory> Draw(int64_t count, Rng& rng) const;

  // For checkpoints: [graphs].
  const std::vector<BestEpisode>& best() const { return best_; }
  // Throws BadInput for episodes that are none of the tasks; then nothing has changed.
  void Load(std::vector<BestEpisode> best);

 private:
  void ConsiderOne(const Trajectory& episode);
  static bool Fits(const PlacementTask& task, const std::vector<uint8_t>& groups);

  const std::vector<PlacementTask>& tasks_;
  const PolicyKind& kind_;
  std::vector<BestEpisode> best_;
};

}  // namespace emplace
