// Measures how many candidates a search evaluates in a second on one core, beside how many whole simulations of the
// same graph it could make.
#pragma once

#include <vector>

#include "tools/bench/harness/bench_main.h"

namespace emplace::bench {

std::vector<Figure> SearchFigures(const Effort& effort);

}  // namespace emplace::bench
