// Measures what sending a trajectory costs: bytes, and time for encoding and decoding.
#pragma once

#include <vector>

#include "tools/bench/harness/bench_main.h"

namespace emplace::bench {

std::vector<Figure> WireFigures(const Effort& effort);

}  // namespace emplace::bench
