// One finished episode as it travels from an actor to the learner (design, section 5). The learner rebuilds the
// features from graph id, start placement and actions, so an episode of 300 steps is a few kilobytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"

namespace emplace {

// Which process made it. An actor that is restarted keeps its id and gets a higher incarnation.
struct ActorKey {
  uint32_t actor_id = 0;
  uint32_t incarnation = 0;
  auto operator<=>(const ActorKey&) const = default;
};

// n = number of groups of the graph = steps of the episode.
struct Trajectory {
  GraphId graph = 0;
  ActorKey actor;
  uint64_t sequence = 0;                  // 1, 2, ... within (actor, incarnation); duplicates are refused by it.
  uint32_t index = 0;                     // In lockstep: which of the episodes of its version; else 0.
  PolicyVersion policy_version = 0;       // The version that chose every action in it.
  std::vector<uint8_t> start_placement;   // [n] device of each group before step 0
  std::vector<uint8_t> actions;           // [n] device chosen at step t, for group t
  std::vector<float> behaviour_log_prob;  // [n] log mu(a_t | s_t)
  std::vector<float> rho;                 // [n + 1] rho(s_t), in the unit of the configured reward
};

// Where an episode's groups are after `steps` of its steps: those have their action's device, the others the one they
// started on. groups: [n], written. REQUIRES: all arrays have n entries; steps <= n.
inline void PlacementAfter(const Trajectory& trajectory, size_t steps, std::span<uint8_t> groups) {
  const auto rest = std::copy_n(trajectory.actions.begin(), steps, groups.begin());
  std::copy(trajectory.start_placement.begin() + static_cast<std::ptrdiff_t>(steps), trajectory.start_placement.end(),
            rest);
}

// The most devices a cluster can have: a placement entry is one byte on the wire.
inline constexpr int kMaxDevices = 255;

}  // namespace emplace
