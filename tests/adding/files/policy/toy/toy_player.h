// Acting with a policy of kind toy: all groups at once.
#pragma once

#include <memory>

#include "policy/player.h"

namespace emplace {

// REQUIRES: shape.kind is toy.
std::unique_ptr<Player> MakeToyPlayer(const PolicyShape& shape);

}  // namespace emplace
