// Compares the learner's update (PolicyUpdater) with a plain LibTorch loop that computes the same gradient.
#pragma once

#include <vector>

#include "tools/bench/harness/bench_main.h"

namespace emplace::bench {

std::vector<Figure> LearnerFigures(const Effort& effort);

}  // namespace emplace::bench
