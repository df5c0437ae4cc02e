// A finished episode as an actor sends it to the learner. The learner rebuilds the states from the graph's id, the
// start placement and the actions, so an episode of 300 steps takes a few kilobytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"

namespace emplace {

// Identifies the actor process that made an episode. A restarted actor keeps its id and gets a higher incarnation.
struct ActorKey {
  uint32_t actor_id = 0;
  uint32_t incarnation = 0;
  auto operator<=>(const ActorKey&) const = default;
};

// n: the number of the graph's groups, which is also the number of steps of the episode.
struct Trajectory {
  GraphId graph = 0;
  ActorKey actor;
  uint64_t sequence = 0;                  // 1, 2, ... for each ActorKey; the learner refuses a number seen before.
  uint32_t index = 0;                     // In lockstep: number of the episode among those of its version; else 0.
  PolicyVersion policy_version = 0;       // The behaviour policy: the version that chose every action.
  std::vector<uint8_t> start_placement;   // [n] device of each group before step 0
  std::vector<uint8_t> actions;           // [n] device chosen at step t, for group t
  std::vector<float> behaviour_log_prob;  // [n] log mu(a_t | s_t)
  std::vector<float> rho;                 // [n + 1] rho(s_t), in the unit of environment.reward
};

// Writes the placement after the first `steps` steps of an episode into groups [n]: the groups decided by then are on
// the device of their action, the others on the device of the start placement. REQUIRES: the trajectory's arrays have
// the lengths given above; steps <= n.
inline void PlacementAfter(const Trajectory& trajectory, size_t steps, std::span<uint8_t> groups) {
  const auto rest = std::copy_n(trajectory.actions.begin(), steps, groups.begin());
  std::copy(trajectory.start_placement.begin() + static_cast<std::ptrdiff_t>(steps), trajectory.start_placement.end(),
            rest);
}

// The largest number of devices in a cluster: messages carry a device as one byte.
inline constexpr int kMaxDevices = 255;

}  // namespace emplace
