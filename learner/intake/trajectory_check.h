// Checks what an actor sent against the graph it claims to be of: nothing from the network reaches an update unchecked.
// Two steps, since they differ a hundredfold in cost: the shape, which makes it safe to compute with, and the
// simulation of its end, which makes it true.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/config/run_config.h"
#include "common/trajectory.h"
#include "simulator/placement_task.h"
#include "simulator/simulator.h"

namespace emplace {

// Why `trajectory` cannot be of these graphs, without simulating anything; nullopt: it can. The graph is known, sizes
// fit, devices are allowed, log-probabilities are finite and at most 0, every rho is finite. Whatever passed is safe to
// compute with. Pure: any thread may call it.
std::optional<std::string> CheckShape(const std::vector<PlacementTask>& tasks, const Trajectory& trajectory);

// What simulating placements of a trajectory says. Not thread-safe. Keeps one simulator a graph.
class TrajectoryChecker {
 public:
  // REQUIRES: tasks outlive it.
  TrajectoryChecker(const std::vector<PlacementTask>& tasks, const EnvironmentConfig& config);

  struct Outcome {
    std::optional<std::string> reason;  // Why it is rejected: its rho there is another; nullopt: it is sound.
    double makespan_us = 0;             // Of the placement that was simulated.
    bool feasible = true;
  };
  // Of its final placement. REQUIRES: it has passed CheckShape with the same tasks.
  Outcome Check(const Trajectory& trajectory) { return CheckAfter(trajectory, trajectory.actions.size()); }
  // Of its placement after `steps` of its steps. REQUIRES: as above; steps <= n.
  Outcome CheckAfter(const Trajectory& trajectory, size_t steps);

 private:
  const std::vector<PlacementTask>& tasks_;
  EnvironmentConfig config_;
  std::vector<std::unique_ptr<Simulator>> simulators_;  // [tasks] made when first needed
  std::vector<uint8_t> groups_;                         // Scratch.
  std::vector<DeviceIndex> op_placement_;               // Scratch.
  std::vector<int64_t> peak_bytes_;                     // Scratch.
};

}  // namespace emplace
