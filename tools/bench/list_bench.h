// Measures a pass of the method `list` over units, with and without a score of every device.
#pragma once

#include <vector>

#include "tools/bench/harness/bench_main.h"

namespace emplace::bench {

std::vector<Figure> ListFigures(const Effort& effort);

}  // namespace emplace::bench
