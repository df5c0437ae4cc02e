// Measures how fast the simulator runs placements: SimulatorFigures runs placements that have nothing in common,
// IncrementalFigures runs those of an episode, each of which differs from the one before by one group.
#pragma once

#include <vector>

#include "tools/bench/harness/bench_main.h"

namespace emplace::bench {

std::vector<Figure> SimulatorFigures(const Effort& effort);
std::vector<Figure> IncrementalFigures(const Effort& effort);

}  // namespace emplace::bench
