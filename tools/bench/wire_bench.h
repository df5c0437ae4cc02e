// What a trajectory costs on the wire: bytes, and time in the codec.
#pragma once

#include <vector>

#include "tools/bench/bench_main.h"

namespace emplace::bench {

std::vector<Figure> WireFigures(const Effort& effort);

}  // namespace emplace::bench
