// Placement files, read for the small graph on the small machine.
#include "simulator/engine/sim_graph.h"
#include "simulator/engine/simulator.h"
#include "simulator/graph/placement.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/small_machine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  static const OpGraph graph = SmallGraph();
  static const Cluster cluster = SmallCluster();
  const auto read = Accepted([&] { return ParseOrderedPlacement(InputText(data, size), "placement", graph, cluster); });
  if (!read) return 0;
  CheckPlacement(graph, cluster, read->placement);
  const SimGraph sim = SimGraph::Compile(graph, cluster);
  EMPLACE_CHECK(Simulator(sim, read->orders).Makespan(read->placement) > 0);
  const std::string written = PlacementToJson(graph, cluster, read->placement, "", read->orders);
  const OrderedPlacement again = ParseOrderedPlacement(written, "written", graph, cluster);
  EMPLACE_CHECK(again.placement == read->placement);
  EMPLACE_CHECK(PlacementToJson(graph, cluster, again.placement, "", again.orders) == written);
  return 0;
}
