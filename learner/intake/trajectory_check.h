// Checks each trajectory from the network against its graph before an update uses it. There are two checks, since their
// costs differ a hundredfold: the shape, after which it is safe to compute with the trajectory, and the simulation of
// its final placement, which shows whether its rewards are true. Measured rewards can only be held to what they may be;
// whether they are true shows where another actor measures again (measurement_audit.h).
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/rng.h"
#include "common/trajectory.h"
#include "policy/config/run_config.h"
#include "policy/policy_kind.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/measure.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Checks the shape: the graph is known, sizes fit, devices are allowed, log-probabilities are finite and at most 0, and
// every rho is finite. Returns why the trajectory fails; nullopt: it passes. Nothing is simulated. Any thread may call
// it.
std::optional<std::string> CheckShape(const std::vector<PlacementTask>& tasks, const PolicyKind& kind,
                                      const Trajectory& trajectory);

// Simulates placements of trajectories and compares their rho with the claimed one. Keeps one Measure for each graph.
// Not thread-safe.
class TrajectoryChecker {
 public:
  // seed: of the steps that Check looks at; a run takes one that nobody can foresee. REQUIRES: tasks outlive the
  // checker.
  TrajectoryChecker(const std::vector<PlacementTask>& tasks, const PolicyKind& kind, const EnvironmentConfig& config,
                    const HardwareConfig& hardware = {}, uint64_t seed = UnforeseenNumber());

  struct Outcome {
    std::optional<std::string>
        reason;              // Why the trajectory is rejected: its rho is not the simulated one; nullopt: it passes.
    double makespan_us = 0;  // Of the simulated placement.
    bool feasible = true;    // It fits in memory, and did not fail when it was measured.
    // Of measured rewards, the final placement's makespan / best single device; NaN: simulated rewards, or infeasible.
    double measured_ratio = std::numeric_limits<double>::quiet_NaN();
  };
  // Checks a claim by its kind. Of simulated rewards, that every rho is one that a placement of the graph can have, and
  // that it stays where a step moves nothing; then simulates the placement after a step that the sender cannot foresee,
  // and the final placement, which the outcome is about. Of measured rewards, that they are ones that a measured
  // placement can have; the final placement is simulated for the outcome alone. REQUIRES: the trajectory has passed
  // CheckShape with the same tasks.
  Outcome Check(const Trajectory& trajectory);
  // Checks the placement that rho[point] is of. REQUIRES: as above, and point < trajectory.rho.size().
  Outcome CheckPoint(const Trajectory& trajectory, size_t point);
  // Compares rho[point], measured, with another measurement of its placement, in microseconds: returns why the two
  // cannot both be true, within hardware.tolerance; nullopt: they can. REQUIRES: as above; rewards are measured.
  std::optional<std::string> CheckAgain(const Trajectory& trajectory, size_t point, double makespan_us);

 private:
  Outcome CheckSimulated(const Trajectory& trajectory);
  Outcome CheckMeasured(const Trajectory& trajectory);
  std::optional<std::string> CheckRewards(const Trajectory& trajectory, double greatest) const;
  double RhoRounding(double rho) const;  // By how much an equal rho may differ.
  Measurement Simulate(const Trajectory& trajectory, size_t point);

  const std::vector<PlacementTask>& tasks_;
  const PolicyKind& kind_;
  EnvironmentConfig config_;
  const HardwareConfig hardware_;
  Rng rng_;
  double least_rho_;                                // No placement has a smaller one.
  std::vector<double> greatest_rho_;                // [tasks] no placement has a greater one
  std::vector<std::unique_ptr<Measure>> measures_;  // [tasks] each is made when it is first needed
  std::vector<uint8_t> groups_;                     // Scratch.
  std::vector<DeviceIndex> op_placement_;           // Scratch.
};

}  // namespace emplace
