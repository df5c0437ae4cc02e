// How fast the simulator runs placements: one after the other that have nothing in common, and an episode's, which
// differ by one group.
#pragma once

#include <vector>

#include "tools/bench/bench_main.h"

namespace emplace::bench {

std::vector<Figure> SimulatorFigures(const Effort& effort);
std::vector<Figure> IncrementalFigures(const Effort& effort);

}  // namespace emplace::bench
