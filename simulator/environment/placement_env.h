// The placement episode, and the one definition of the reward.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/csr.h"
#include "common/rng.h"
#include "simulator/environment/environment_config.h"
#include "simulator/environment/measure.h"
#include "simulator/environment/simulated_measure.h"
#include "simulator/environment/start_placement.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// rho of one run of a placed step: the makespan in seconds, its natural logarithm or its square root, as
// environment.reward says, + memory_penalty * GB over the limit on the fullest device (capped at memory_penalty_cap).
// Rewards are differences of rho.
double Rho(const EnvironmentConfig& config, double makespan_us, std::span<const int64_t> peak_bytes,
           std::span<const int64_t> memory_bytes);

// The makespan in microseconds of a step that fits in memory and has this rho.
double MakespanUsOf(const EnvironmentConfig& config, double rho);

// Not thread-safe. Allocates in its constructor only.
class PlacementEnv {
 public:
  // REQUIRES: task outlives the environment.
  PlacementEnv(const PlacementTask& task, const EnvironmentConfig& config,
               const MeasureFactory& make_measure = MakeSimulatedMeasure);

  // Starts an episode from a start placement as `config.start` says, and returns rho(s_0). With kBest it is a random
  // one: who runs the episodes knows the best placement of them all, and starts from it by the other Reset.
  double Reset(Rng& rng);
  // Starts an episode from this placement, and returns rho(s_0). REQUIRES: [n], every device allowed.
  double Reset(std::span<const uint8_t> start);
  // Puts the current group on `device`, measures the placement, makes the next group current, and returns
  // rho(s_{t+1}). The step's reward is rho(s_t) - rho(s_{t+1}). REQUIRES: !done() and the device is
  // allowed for the group.
  double Step(DeviceIndex device);

  bool reproducible() const { return measure_->Reproducible(); }
  bool done() const { return step_ == task_->groups.num_groups; }
  int32_t step() const { return step_; }
  std::span<const uint8_t> placement() const { return placement_; }  // [n]
  double makespan_us() const { return makespan_us_; }                // Makespan of the current placement.
  bool feasible() const { return feasible_; }  // Whether the current placement fits every device's memory.
  double best_makespan_us() const { return best_makespan_us_; }  // Of the best feasible placement; infinity: none.
  const std::vector<uint8_t>& best_placement() const { return best_placement_; }

 private:
  double Evaluate();

  const PlacementTask* task_;
  EnvironmentConfig config_;
  std::unique_ptr<Measure> measure_;
  std::vector<uint8_t> placement_;         // [n]
  std::vector<DeviceIndex> op_placement_;  // [num_ops]
  Csr ops_of_group_;                       // [n] ascending
  std::vector<uint8_t> best_placement_;    // [n]; empty as long as there is none
  std::vector<uint8_t> start_;             // [n] scratch of Reset
  int32_t step_ = 0;
  double rho_ = 0;
  double makespan_us_ = 0;
  double best_makespan_us_ = 0;
  bool feasible_ = true;
};

}  // namespace emplace
