// emplace-bench-libtorch: what is compared with LibTorch. Both sides have one core.
#include <ATen/Parallel.h>
#include <torch/types.h>

#include "tools/bench/harness/bench_main.h"
#include "tools/bench/libtorch/learner_bench.h"
#include "tools/bench/libtorch/policy_bench.h"

int main(int argc, char** argv) {
  using namespace emplace::bench;
  at::set_num_threads(1);
  return BenchMain("emplace-bench-libtorch", argc, argv, {{"policy", PolicyFigures}, {"learner", LearnerFigures}});
}
