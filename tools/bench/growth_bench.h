// How cost grows with the size of what is placed.
#pragma once

#include <vector>

#include "tools/bench/bench_main.h"

namespace emplace::bench {

// The policy kernel by groups, "groups|N|...".
std::vector<Figure> GrowthWithGroups(const Effort& effort);
// The policy kernel and the simulator by devices, "devices|N|...".
std::vector<Figure> GrowthWithDevices(const Effort& effort);
// The simulator by ops, "ops|N|...".
std::vector<Figure> GrowthWithOps(const Effort& effort);

}  // namespace emplace::bench
