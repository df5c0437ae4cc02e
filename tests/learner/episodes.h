// Small workloads, and episodes of them as actors send them, played without an actor.
#pragma once

#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "common/trajectory.h"
#include "learner/update/policy_updater.h"
#include "learner/workload.h"
#include "policy/config/run_config.h"
#include "policy/policy_weights.h"
#include "simulator/environment/environment_config.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Random training graphs of 3 to 8 groups on a cluster of two devices, the second of which is short of memory. In
// graphs of odd index, group 0 may not go to device 0. All graphs have the same name.
Workload TwoDeviceWorkload(uint64_t seed, int count);
// The same graphs on another machine, where every group may go anywhere.
Workload OnMachine(const Workload& workload, const Cluster& cluster);
// The same graphs on devices with enough memory.
Workload RoomyWorkload(uint64_t seed, int count);
// Only the tasks of TwoDeviceWorkload.
std::vector<PlacementTask> TwoDeviceTasks(uint64_t seed, int count);

// A policy for these tasks, with two message rounds.
PolicyWeights SmallPolicy(uint64_t seed, PolicyVersion version = 0);

// Samples episodes from the policy, from random start placements; graphs are drawn uniformly.
std::vector<Trajectory> Episodes(const std::vector<PlacementTask>& tasks, const EnvironmentConfig& environment,
                                 const PolicyWeights& weights, int count, Rng rng);

// Expects that every part of the two states is equal.
void ExpectEqual(const UpdaterState& a, const UpdaterState& b);

}  // namespace emplace
