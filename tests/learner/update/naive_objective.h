// The loss of REINFORCE written down once more, in double and over the naive network, for tests of PolicyUpdater.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/trajectory.h"
#include "policy/config/run_config.h"
#include "policy/policy_weights.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// The policy in one state.
struct NaiveState {
  std::vector<double> log_probs;
  double chosen = 0;
  double entropy = 0;
};
// In the state before step t of the episode.
NaiveState EvaluateNaively(const PolicyWeights& weights, const PlacementTask& task, const Trajectory& episode,
                           int32_t t);

struct NaiveSample {
  size_t episode;
  int32_t step;
  double advantage;
  double ratio;  // Of the weights that are updated; 1 when nothing lags.
};

class NaiveObjective {
 public:
  // Of an update that starts from `weights`. REQUIRES: tasks and batch outlive it.
  NaiveObjective(const std::vector<PlacementTask>& tasks, const RunConfig& config, const PolicyWeights& weights,
                 const std::vector<Trajectory>& batch);

  // Of these weights, with the samples' advantages and ratios as they were.
  double Loss(const PolicyWeights& weights) const;
  double MeanRatio() const;
  double advantage_std() const { return advantage_std_; }  // Before they are normalized.
  const std::vector<NaiveSample>& samples() const { return samples_; }

 private:
  const std::vector<PlacementTask>& tasks_;
  const std::vector<Trajectory>& batch_;
  std::vector<NaiveSample> samples_;
  double clip_;
  double entropy_weight_;
  double advantage_std_ = 0;
};

}  // namespace emplace
