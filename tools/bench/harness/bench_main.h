// The command line and the output that all benchmark programs share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/bench/harness/measure.h"

namespace emplace::bench {

// How much time the benchmarks spend.
struct Effort {
  bool quick = false;  // Make two repetitions of everything: shows that it runs, measures nothing.
  int Repetitions(int wanted) const { return quick ? 2 : wanted; }
};

struct Bench {
  std::string name;  // The name for --only.
  std::function<std::vector<Figure>(const Effort&)> run;
};

// Runs all benches in order, or those that --only names. Prints {"figures": [...]} on stdout, and on stderr how long
// each bench took. Returns the exit code of main.
int BenchMain(const std::string& program, int argc, char** argv, const std::vector<Bench>& benches);

}  // namespace emplace::bench
