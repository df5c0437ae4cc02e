#include "learner/intake/trajectory_check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/placement_env.h"
#include "simulator/environment/simulated_measure.h"

namespace emplace {
namespace {

// rho travels as float32.
constexpr double kRhoTolerance = 1e-4;
// A log-probability may come out a rounding error above 0.
constexpr float kLogProbTolerance = 1e-4F;
// Less likely choices are drawn once in 5e21 times. From far less likely ones PPO's ratio would be infinite.
constexpr float kLeastLogProb = -50;

}  // namespace

std::optional<std::string> CheckShape(const std::vector<PlacementTask>& tasks, const PolicyKind& kind,
                                      const Trajectory& trajectory) {
  if (trajectory.graph >= tasks.size()) return StrCat("graph ", trajectory.graph, ", there are ", tasks.size());
  if (auto reason = kind.CheckDecisions(tasks[trajectory.graph], trajectory)) return reason;
  const size_t decisions = trajectory.actions.size();
  if (trajectory.behaviour_log_prob.size() != decisions || trajectory.rho.size() != kind.NumRho(decisions)) {
    return StrCat("its arrays do not fit its ", decisions, " decisions on graph ", trajectory.graph);
  }
  for (const float log_prob : trajectory.behaviour_log_prob) {
    if (!std::isfinite(log_prob) || log_prob > kLogProbTolerance || log_prob < kLeastLogProb)
      return StrCat("a log-probability is ", log_prob);
  }
  for (const float rho : trajectory.rho) {
    if (!std::isfinite(rho)) return StrCat("a rho is ", rho);
  }
  return std::nullopt;
}

TrajectoryChecker::TrajectoryChecker(const std::vector<PlacementTask>& tasks, const PolicyKind& kind,
                                     const EnvironmentConfig& config, const HardwareConfig& hardware, uint64_t seed)
    : tasks_(tasks),
      kind_(kind),
      config_(config),
      hardware_(hardware),
      rng_(seed),
      least_rho_(Rho(config, 0, {}, {})),
      measures_(tasks.size()) {
  for (const PlacementTask& task : tasks) {
    greatest_rho_.push_back(Rho(config_, task.sim.LongestRunUs(), {}, {}) + config_.memory_penalty_cap);
  }
}

// One false rho can outweigh all that is true, since advantages are scaled by what their graph has shown.
std::optional<std::string> TrajectoryChecker::CheckRewards(const Trajectory& trajectory, double greatest) const {
  for (const float rho : trajectory.rho) {
    const auto value = static_cast<double>(rho);
    if (value < least_rho_ - kRhoTolerance * std::abs(least_rho_) ||
        value > greatest + kRhoTolerance * std::abs(greatest)) {
      return StrCat("a rho is ", rho, ", of this graph's placements it is ", least_rho_, " to ", greatest);
    }
  }
  for (size_t step = 0; step + 1 < trajectory.rho.size(); ++step) {
    if (trajectory.actions[step] != trajectory.start_placement[step]) continue;
    if (trajectory.rho[step + 1] == trajectory.rho[step]) continue;
    return StrCat("step ", step, " moves nothing, and rho goes from ", trajectory.rho[step], " to ",
                  trajectory.rho[step + 1]);
  }
  return std::nullopt;
}

TrajectoryChecker::Outcome TrajectoryChecker::Check(const Trajectory& trajectory) {
  switch (trajectory.claim) {
    case Claim::kSimulated:
      return CheckSimulated(trajectory);
    case Claim::kMeasured:
      return CheckMeasured(trajectory);
  }
  EMPLACE_CHECK(false);
  return {};
}

TrajectoryChecker::Outcome TrajectoryChecker::CheckSimulated(const Trajectory& trajectory) {
  const double greatest = greatest_rho_[trajectory.graph];
  if (std::optional<std::string> reason = CheckRewards(trajectory, greatest)) return {.reason = std::move(reason)};
  const size_t last = trajectory.rho.size() - 1;
  const size_t point = rng_.Index(trajectory.rho.size());
  if (point < last) {
    Outcome outcome = CheckPoint(trajectory, point);
    if (outcome.reason) return outcome;
  }
  return CheckPoint(trajectory, last);
}

TrajectoryChecker::Outcome TrajectoryChecker::CheckMeasured(const Trajectory& trajectory) {
  const PlacementTask& task = tasks_[trajectory.graph];
  if (task.single_device < 0) {
    return {.reason = "its rewards are measured, and no device of its graph runs every op, for a reference"};
  }
  const double slowest_us = hardware_.penalty * task.single_device_us;
  const double greatest = Rho(config_, slowest_us, {}, {}) + config_.memory_penalty_cap;
  if (std::optional<std::string> reason = CheckRewards(trajectory, greatest)) return {.reason = std::move(reason)};
  const size_t last = trajectory.rho.size() - 1;
  const Measurement simulated = Simulate(trajectory, last);
  Outcome outcome;
  outcome.makespan_us = simulated.makespan_us;
  outcome.feasible = simulated.feasible;
  if (!simulated.feasible) return outcome;
  const double measured_us = MakespanUsOf(config_, static_cast<double>(trajectory.rho[last]));
  outcome.measured_ratio = task.RatioToSingleDevice(measured_us);
  outcome.feasible = measured_us < (1 - kRhoTolerance) * slowest_us;
  return outcome;
}

std::optional<std::string> TrajectoryChecker::CheckAgain(const Trajectory& trajectory, size_t point,
                                                         double makespan_us) {
  const Measurement simulated = Simulate(trajectory, point);
  const std::vector<int64_t>& memory_bytes = tasks_[trajectory.graph].sim.memory_bytes;
  const double low = Rho(config_, makespan_us / hardware_.tolerance, simulated.peak_bytes, memory_bytes);
  const double high = Rho(config_, makespan_us * hardware_.tolerance, simulated.peak_bytes, memory_bytes);
  const auto claimed = static_cast<double>(trajectory.rho[point]);
  const double rounding = RhoRounding(claimed);
  if (claimed >= low - rounding && claimed <= high + rounding) return std::nullopt;
  return StrCat("its rho after ", point, " steps is ", claimed, ", and ", low, " to ", high,
                " when its placement is measured again");
}

double TrajectoryChecker::RhoRounding(double rho) const {
  // A logarithm may be near 0, and rounds as the number does that it is of.
  return kRhoTolerance * (config_.reward == RewardUnit::kLog ? std::max(1.0, std::abs(rho)) : std::abs(rho));
}

Measurement TrajectoryChecker::Simulate(const Trajectory& trajectory, size_t point) {
  const PlacementTask& task = tasks_[trajectory.graph];
  std::unique_ptr<Measure>& measure = measures_[trajectory.graph];
  if (!measure) measure = MakeSimulatedMeasure(task);
  op_placement_.resize(static_cast<size_t>(task.sim.num_ops));
  groups_.resize(static_cast<size_t>(task.groups.num_groups));
  kind_.PlacementAt(task, trajectory, point, groups_);
  task.Expand(groups_, op_placement_);
  return measure->Run(groups_, op_placement_);
}

TrajectoryChecker::Outcome TrajectoryChecker::CheckPoint(const Trajectory& trajectory, size_t point) {
  Outcome outcome;
  const PlacementTask& task = tasks_[trajectory.graph];
  const Measurement measured = Simulate(trajectory, point);
  outcome.makespan_us = measured.makespan_us;
  outcome.feasible = measured.feasible;
  const double expected = Rho(config_, measured.makespan_us, measured.peak_bytes, task.sim.memory_bytes);
  const double claimed = static_cast<double>(trajectory.rho[point]);
  if (std::abs(claimed - expected) > RhoRounding(expected)) {
    const std::string which =
        point + 1 == trajectory.rho.size() ? "its last rho" : StrCat("its rho after ", point, " steps");
    outcome.reason = StrCat(which, " is ", claimed, ", the simulator says ", expected);
  }
  return outcome;
}

}  // namespace emplace
