#include "policy/trials/trial_runner.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "common/rng.h"
#include "policy/gaussian.h"
#include "policy/placer/planner_method.h"
#include "policy/policy_kinds.h"
#include "simulator/methods/planner_parameters.h"

namespace emplace {
namespace {

double ScoreOf(const PlacementTask& task, const MethodScore& score) {
  if (!score.feasible) return TrialRunner::kWorstScore;
  const double reference_us = task.single_device >= 0 ? task.single_device_us : task.sim.LongestRunUs();
  // What takes no time anywhere can be placed anyhow.
  if (!(score.makespan_us > 0) || !(reference_us > 0)) return 0;
  return std::clamp(std::log(score.makespan_us / reference_us), TrialRunner::kBestScore, TrialRunner::kWorstScore);
}

}  // namespace

std::vector<float> CandidateOf(const PolicyWeights& weights, const RunConfig& config, int64_t candidate) {
  const Rng generation = Rng(config.seed).Fork("generation", weights.version);
  const auto number = static_cast<uint64_t>(candidate);
  const Gaussian policy(weights);
  if (!config.evolution.mirrored()) return policy.Draw(generation.Fork("candidate", number));
  const Gaussian::Side side = number % 2 == 0 ? Gaussian::Side::kPlus : Gaussian::Side::kMinus;
  return policy.Draw(generation.Fork("candidate", number / 2), side);
}

TrialRunner::TrialRunner(const std::vector<PlacementTask>& tasks, const RunConfig& config)
    : tasks_(tasks), config_(config) {
  if (tasks.empty()) source_.emplace(config.instances, InstancePart::kTrain, config.seed);
}

const PlacementTask& TrialRunner::TaskOfProblem(uint64_t problem) {
  if (!source_) return tasks_[problem];
  if (!task_ || made_ != problem) {
    task_ = TaskOf(source_->Make(problem));
    made_ = problem;
  }
  return *task_;
}

double TrialRunner::Run(const PolicyWeights& weights, uint32_t index) {
  const Trial trial = TrialOf(config_, tasks_.size(), weights.version, index);
  const PlacementTask& task = TaskOfProblem(trial.problem);
  const std::vector<float> candidate = CandidateOf(weights, config_, trial.candidate);
  const PolicyKind& kind = FindPolicyKind(weights.shape.kind);
  const auto method =
      MakePlannerMethod({.seed = config_.seed + trial.problem,
                         .planner = std::make_shared<const PlannerParameters>(kind.PlannerOf(candidate))},
                        trial.budget);
  return ScoreOf(task, Score(task, method->Place(task)));
}

}  // namespace emplace
