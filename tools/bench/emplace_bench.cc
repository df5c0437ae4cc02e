// emplace-bench: what can be measured without LibTorch.
#include "tools/bench/harness/bench_main.h"
#include "tools/bench/list_bench.h"
#include "tools/bench/rollout_bench.h"
#include "tools/bench/search_bench.h"
#include "tools/bench/simulator_bench.h"
#include "tools/bench/wire_bench.h"

int main(int argc, char** argv) {
  using namespace emplace::bench;
  return BenchMain("emplace-bench", argc, argv,
                   {{"simulator", SimulatorFigures},
                    {"incremental", IncrementalFigures},
                    {"list", ListFigures},
                    {"search", SearchFigures},
                    {"rollout", RolloutFigures},
                    {"wire", WireFigures}});
}
