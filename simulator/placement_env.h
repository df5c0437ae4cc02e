// The placement episode (design, section 5) and the one definition of the reward.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/config/run_config.h"
#include "common/policy/policy_graph.h"
#include "common/rng.h"
#include "simulator/placement_task.h"
#include "simulator/simulator.h"
#include "simulator/start_placement.h"

namespace emplace {

// rho of one simulated run: the makespan in seconds, or its natural logarithm, + memory_penalty * GB over the limit on
// the fullest device (capped at memory_penalty_cap). Rewards are differences of rho.
double Rho(const EnvironmentConfig& config, double makespan_us, std::span<const int64_t> peak_bytes,
           std::span<const int64_t> memory_bytes);

// Not thread-safe. Allocates in its constructor only.
class PlacementEnv {
 public:
  // REQUIRES: task outlives the environment.
  PlacementEnv(const PlacementTask& task, const EnvironmentConfig& config);

  // Starts an episode from a start placement drawn as `config.start` says ("best": the best feasible one that this
  // environment has seen, random before there is one); returns rho(s_0).
  double Reset(Rng& rng);
  // Starts from this placement. REQUIRES: [n], every device allowed.
  double Reset(std::span<const uint8_t> start);
  // Puts the current group on `device`, simulates, moves on; returns rho(s_{t+1}). The reward is the difference.
  // REQUIRES: !done() and the device is allowed for the group.
  double Step(DeviceIndex device);

  bool done() const { return step_ == task_->policy.num_nodes; }
  int32_t step() const { return step_; }
  std::span<const uint8_t> placement() const { return placement_; }  // [n]
  PolicyState state() const { return {&task_->policy, placement_.data(), step_}; }
  double makespan_us() const { return makespan_us_; }            // Of the current placement.
  bool feasible() const { return feasible_; }                    // It fits every device's memory.
  double best_makespan_us() const { return best_makespan_us_; }  // Best feasible one seen so far; infinity: none.
  const std::vector<uint8_t>& best_placement() const { return best_placement_; }

 private:
  double Evaluate();
  // Whether all that the ops of each device ever hold would fit its memory at once: then its peak is of no interest.
  bool FitsAnyhow();

  const PlacementTask* task_;
  EnvironmentConfig config_;
  Simulator simulator_;
  std::vector<uint8_t> placement_;         // [n]
  std::vector<DeviceIndex> op_placement_;  // [num_ops]
  std::vector<int32_t> op_begin_;          // [n + 1] ops of each group, in ops_of_group_
  std::vector<OpIndex> ops_of_group_;      // [num_ops]
  std::vector<int64_t> peak_bytes_;        // [D] of the current placement; 0 where all fits anyhow
  std::vector<double> group_bytes_;        // [n] outputs, parameters and temporaries of all its ops
  std::vector<double> placed_bytes_;       // [D] scratch of FitsAnyhow
  std::vector<uint8_t> best_placement_;    // [n], empty before there is one
  std::vector<uint8_t> start_;             // [n] scratch of Reset
  int32_t step_ = 0;
  double rho_ = 0;
  double makespan_us_ = 0;
  double best_makespan_us_ = 0;
  bool feasible_ = true;
};

}  // namespace emplace
