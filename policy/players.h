// A player for a policy of any kind.
#pragma once

#include <memory>

#include "policy/player.h"
#include "policy/policy_weights.h"

namespace emplace {

// A player without weights.
std::unique_ptr<Player> MakePlayer(const PolicyShape& shape);
// A player with these weights.
std::unique_ptr<Player> MakePlayer(const PolicyWeights& weights);

}  // namespace emplace
