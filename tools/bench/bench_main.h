// What the benchmark programs share: their command line and their output.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/bench/measure.h"

namespace emplace::bench {

struct Effort {
  bool quick = false;  // Two repetitions of everything: to see that it runs, not to measure.
  int Repetitions(int wanted) const { return quick ? 2 : wanted; }
};

struct Bench {
  std::string name;  // For --only.
  std::function<std::vector<Figure>(const Effort&)> run;
};

// Runs the benches in order, or the ones that --only names; prints {"figures": [...]} on stdout, and on stderr how long
// each took. Returns main's exit code.
int BenchMain(const std::string& program, int argc, char** argv, const std::vector<Bench>& benches);

}  // namespace emplace::bench
