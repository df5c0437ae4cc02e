// Runs trials. Actors run all of them, the learner some of them again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/config/run_config.h"
#include "policy/policy_weights.h"
#include "policy/trials/trial.h"
#include "simulator/instances/instance_source.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// The parameters of a candidate [N] of the generation that is drawn from these weights: the run's seed, the version and
// the candidate's number decide them. Where evolution mirrors candidates, 2k and 2k + 1 are a pair.
std::vector<float> CandidateOf(const PolicyWeights& weights, const RunConfig& config, int64_t candidate);

// Not thread-safe.
class TrialRunner {
 public:
  // tasks: the training graphs, of PlacementTask::Make, index = GraphId; empty: the problems are instances. REQUIRES:
  // tasks and config outlive the runner.
  TrialRunner(const std::vector<PlacementTask>& tasks, const RunConfig& config);

  // What the trial's placement is worth: ln(makespan / one device), or, where no device runs every op, over the sum of
  // all ops' times. The lower the better; never over kWorstScore, which is also what a placement is worth that does
  // not fit in memory. The same, bit for bit, wherever it is run.
  double Run(const PolicyWeights& weights, uint32_t index);

  static constexpr double kWorstScore = 3;
  // No score is lower: a placement on so many devices that is so many times as fast as one of them.
  static constexpr double kBestScore = -20;

 private:
  const PlacementTask& TaskOfProblem(uint64_t problem);

  const std::vector<PlacementTask>& tasks_;
  const RunConfig& config_;
  std::optional<InstanceSource> source_;
  uint64_t made_ = 0;  // The number of `task_`.
  std::optional<PlacementTask> task_;
};

}  // namespace emplace
