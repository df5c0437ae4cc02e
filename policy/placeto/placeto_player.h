// Acting with a Placeto policy: one group a step, by the kernel without LibTorch (kernel/placeto_kernel.h).
#pragma once

#include <memory>

#include "policy/player.h"

namespace emplace {

// REQUIRES: shape.kind is placeto.
std::unique_ptr<Player> MakePlacetoPlayer(const PolicyShape& shape);

}  // namespace emplace
