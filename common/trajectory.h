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

// What the rewards of an episode are said to be, and so how the learner checks them and what it compares them with.
enum class Claim : uint8_t {
  kSimulated,  // The simulator's: whoever simulates again gets the same.
  kMeasured,   // Of real steps on hardware.
};

// n: the number of the graph's groups, T: of the episode's decisions. What a decision is depends on the kind of the
// policy (policy/policy_kind.h); with most, decision t is the device of group t, and T = n. A trial of an evolution
// (policy/trials/trial.h) has no decisions: its arrays are empty but for one rho, its score.
struct Trajectory {
  GraphId graph = 0;
  ActorKey actor;
  uint64_t sequence = 0;             // 1, 2, ... for each ActorKey; the learner refuses a number seen before.
  uint32_t index = 0;                // In lockstep: number of the episode among those of its version; else 0.
  PolicyVersion policy_version = 0;  // The behaviour policy: the version that chose every action.
  Claim claim = Claim::kSimulated;
  std::vector<uint8_t> start_placement;   // [n] device of each group before step 0; empty: of no account
  std::vector<uint8_t> actions;           // [T] what was chosen
  std::vector<float> behaviour_log_prob;  // [T] log mu(a_t | s_t)
  std::vector<float> rho;                 // [T + 1] rho(s_t), or [1] that of the end, in the unit of environment.reward
};

// Writes the placement after the first `steps` steps of an episode into groups [n]: the groups decided by then are on
// the device of their action, the others on the device of the start placement. REQUIRES: decision t is the device of
// group t; steps <= n, and n where there is no start placement.
inline void PlacementAfter(const Trajectory& trajectory, size_t steps, std::span<uint8_t> groups) {
  const auto rest = std::copy_n(trajectory.actions.begin(), steps, groups.begin());
  if (steps < trajectory.start_placement.size()) {
    std::copy(trajectory.start_placement.begin() + static_cast<std::ptrdiff_t>(steps), trajectory.start_placement.end(),
              rest);
  }
}

}  // namespace emplace
