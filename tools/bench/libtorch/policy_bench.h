// Compares the actor's forward pass (PlacetoKernel) with the plain LibTorch network.
#pragma once

#include <vector>

#include "tools/bench/harness/bench_main.h"

namespace emplace::bench {

std::vector<Figure> PolicyFigures(const Effort& effort);

}  // namespace emplace::bench
