// Acting with a policy of kind rnn: one group a step.
#pragma once

#include <memory>

#include "policy/player.h"

namespace emplace {

// REQUIRES: shape.kind is rnn.
std::unique_ptr<Player> MakeRnnPlayer(const PolicyShape& shape);

}  // namespace emplace
