// Measures how the time of the policy and of the simulator grows with the number of groups, devices and ops.
#pragma once

#include <vector>

#include "tools/bench/harness/bench_main.h"

namespace emplace::bench {

// Measures the policy kernel with N groups; the figures are named "groups|N|...".
std::vector<Figure> GrowthWithGroups(const Effort& effort);
// Measures the policy kernel and the simulator with N devices; the figures are named "devices|N|...".
std::vector<Figure> GrowthWithDevices(const Effort& effort);
// Measures the simulator with N ops; the figures are named "ops|N|...".
std::vector<Figure> GrowthWithOps(const Effort& effort);

}  // namespace emplace::bench
