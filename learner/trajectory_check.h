// Checks what an actor sent against the graph it claims to be of: nothing from the network reaches an update unchecked.
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

// Not thread-safe. Keeps one simulator a graph.
class TrajectoryChecker {
 public:
  // REQUIRES: tasks outlive it.
  TrajectoryChecker(const std::vector<PlacementTask>& tasks, const EnvironmentConfig& config);

  struct Outcome {
    std::optional<std::string> reason;  // Why it is rejected; nullopt: it is sound.
    double makespan_us = 0;             // Of the final placement, simulated here.
    bool feasible = true;
  };
  // The graph is known, sizes fit, devices are allowed, log-probabilities are finite and at most 0, and the last rho is
  // that of the final placement, simulated anew.
  Outcome Check(const Trajectory& trajectory);

 private:
  std::optional<std::string> CheckShape(const Trajectory& trajectory) const;

  const std::vector<PlacementTask>& tasks_;
  EnvironmentConfig config_;
  std::vector<std::unique_ptr<Simulator>> simulators_;  // [tasks] made when first needed
  std::vector<DeviceIndex> op_placement_;               // Scratch.
  std::vector<int64_t> peak_bytes_;                     // Scratch.
};

}  // namespace emplace
