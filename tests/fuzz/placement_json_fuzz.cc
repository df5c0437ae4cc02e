// Placement files, read for the small graph on the small machine.
#include "simulator/graph/placement.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/small_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  static const OpGraph graph = SmallGraph();
  static const Cluster cluster = SmallCluster();
  const auto placement = Accepted([&] { return ParsePlacement(InputText(data, size), "placement", graph, cluster); });
  if (!placement) return 0;
  CheckPlacement(graph, cluster, *placement);
  EMPLACE_CHECK(ParsePlacement(PlacementToJson(graph, cluster, *placement), "written", graph, cluster) == *placement);
  return 0;
}
