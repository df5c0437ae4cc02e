// Measures how fast one actor thread rolls out episodes: environment, policy and bookkeeping.
#pragma once

#include <vector>

#include "tools/bench/harness/bench_main.h"

namespace emplace::bench {

std::vector<Figure> RolloutFigures(const Effort& effort);

}  // namespace emplace::bench
