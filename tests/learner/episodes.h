// Small tasks and the episodes that actors would send, played here without an actor; and what a learner makes of them.
#pragma once

#include <cstdint>
#include <vector>

#include "common/config/run_config.h"
#include "common/policy/policy_weights.h"
#include "common/rng.h"
#include "common/trajectory.h"
#include "learner/update/policy_updater.h"
#include "learner/workload.h"
#include "simulator/placement_task.h"

namespace emplace {

// Random graphs of 3 to 8 groups, to train on, on one cluster of two devices, the second short of memory. In graphs of
// odd index, group 0 may not go to device 0. All graphs have the same name.
Workload TwoDeviceWorkload(uint64_t seed, int count);
// The same graphs on another machine, where every group may go anywhere.
Workload OnMachine(const Workload& workload, const Cluster& cluster);
// The same graphs where memory is no matter.
Workload RoomyWorkload(uint64_t seed, int count);
// Only the tasks of TwoDeviceWorkload.
std::vector<PlacementTask> TwoDeviceTasks(uint64_t seed, int count);

// A policy for them with two message rounds.
PolicyWeights SmallPolicy(uint64_t seed, PolicyVersion version = 0);

// Sampled from the policy from random starts; graphs are drawn uniformly.
std::vector<Trajectory> Episodes(const std::vector<PlacementTask>& tasks, const EnvironmentConfig& environment,
                                 const PolicyWeights& weights, int count, Rng rng);

// Each part of what an updater saves.
void ExpectEqual(const UpdaterState& a, const UpdaterState& b);

}  // namespace emplace
