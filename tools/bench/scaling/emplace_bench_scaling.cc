// emplace-bench-scaling: how cost grows; tools/bench/scaling.py makes a table of it.
#include "tools/bench/harness/bench_main.h"
#include "tools/bench/scaling/front_end_bench.h"
#include "tools/bench/scaling/growth_bench.h"

int main(int argc, char** argv) {
  using namespace emplace::bench;
  return BenchMain("emplace-bench-scaling", argc, argv,
                   {{"front_end", FrontEndFigures},
                    {"groups", GrowthWithGroups},
                    {"devices", GrowthWithDevices},
                    {"ops", GrowthWithOps}});
}
