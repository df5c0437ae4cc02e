// Episodes of one task side by side, with what a policy observes of them: for libraries of reinforcement learning,
// which step several environments at once. k episodes, n groups, D devices, F = 4 + D features of a group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "common/rng.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/placement_env.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Not thread-safe. What throws BadInput has changed nothing.
class VectorEnv {
 public:
  // Every episode is to be reset before its first step. REQUIRES: count >= 1.
  VectorEnv(PlacementTask task, const EnvironmentConfig& config, size_t count);
  VectorEnv(const VectorEnv&) = delete;  // The environments point to the task.
  VectorEnv& operator=(const VectorEnv&) = delete;

  // From now on, random starts of this episode are drawn from `seed`; before, all are drawn from 0.
  void Seed(size_t index, uint64_t seed) { rngs_.at(index) = Rng(seed); }
  void Reset(size_t index) { rho_.at(index) = envs_.at(index).Reset(rngs_[index]); }
  // Puts the current group on the device, or leaves it where it is if the device may not run it. Returns the reward.
  // Throws BadInput for a device that is not there, and at the end of the episode.
  double Step(size_t index, int32_t device);
  // Resets those that were done before, whose action counts nothing, and steps the others. Returns the rewards [k].
  // Throws BadInput for a device that is not there. REQUIRES: devices [k].
  std::vector<double> StepAll(std::span<const int32_t> devices);

  size_t count() const { return envs_.size(); }
  size_t features() const;
  const PlacementTask& task() const { return task_; }
  const PlacementEnv& env(size_t index) const { return envs_.at(index); }

  // Writes [n, F]: each group's cost and output bytes over those of the largest, whether it was visited, whether it is
  // the current one, and 1 at its device.
  void Observe(size_t index, float* out) const;
  // Writes [D] 1 where the current group may go; all 1 at the end of an episode.
  void Mask(size_t index, int8_t* out) const;

 private:
  void CheckAction(int32_t device) const;

  const PlacementTask task_;
  std::deque<PlacementEnv> envs_;  // [k]
  std::vector<Rng> rngs_;          // [k]
  std::vector<double> rho_;        // [k]
  std::vector<float> cost_;        // [n] over the largest
  std::vector<float> bytes_;       // [n] over the largest
};

}  // namespace emplace
