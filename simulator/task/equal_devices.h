// Devices that cannot be told apart: swapping two of them changes the time of no placement, but for ties between
// events.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// Whether two devices have the same memory, and every op takes as long on one as on the other. Links are not compared.
bool AreAlike(const SimGraph& sim, DeviceIndex a, DeviceIndex b);

// [D] for each device the first one that is its equal: the same memory, the same cost of every op, and links alike.
// With a topology every device counts as one of its own.
std::vector<int32_t> EqualDevices(const SimGraph& sim);

// Swaps equal devices so that each first appears in `groups` [n] only after those equal ones with lower indices.
// equal: as EqualDevices gives it.
void NumberInOrderOfUse(std::span<const int32_t> equal, std::span<uint8_t> groups);

}  // namespace emplace
