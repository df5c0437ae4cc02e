// The rate of trajectories that a learner's front end takes in: recorded episodes, sent again and again by one thread
// that plays many actors over their real sockets, with nobody training.
#pragma once

#include <vector>

#include "tools/bench/bench_main.h"

namespace emplace::bench {

// For 1, 8 and 64 actors: ptb graphs, and graphs of 128 ops, on which the check of an episode's end costs little; named
// "front end, WHAT|N|...". Fails when the ledger does not say that everything arrived, once.
std::vector<Figure> FrontEndFigures(const Effort& effort);

}  // namespace emplace::bench
