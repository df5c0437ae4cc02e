// Acting with a policy of kind hierarchical: the bins of all groups at once, then the device of one bin a step.
#pragma once

#include <memory>

#include "policy/player.h"

namespace emplace {

// REQUIRES: shape.kind is hierarchical.
std::unique_ptr<Player> MakeHierarchicalPlayer(const PolicyShape& shape);

}  // namespace emplace
