// Measures how many trajectories per second a learner's front end takes in. One thread plays many actors over real
// sockets and sends recorded episodes again and again; nothing is trained.
#pragma once

#include <vector>

#include "tools/bench/harness/bench_main.h"

namespace emplace::bench {

// Measures with 1, 8 and 64 actors, on ptb graphs and on graphs of 128 ops, whose episodes are cheap to check. The
// figures are named "front end, WHAT|N|...". Fails unless the ledger says that every episode arrived exactly once.
std::vector<Figure> FrontEndFigures(const Effort& effort);

}  // namespace emplace::bench
