#include "tests/actor/hardware/grouped_placement.h"

#include <map>
#include <string>

#include "tests/support/random_graph.h"

namespace emplace {

Placement GroupedPlacement(Rng& rng, const OpGraph& graph, const Cluster& cluster) {
  Placement placement = RandomPlacement(rng, graph, cluster);
  std::map<std::string, DeviceIndex> of_group;
  for (size_t op = 0; op < placement.size(); ++op) {
    const std::string& group = graph.ops()[op].group;
    if (!group.empty()) placement[op] = of_group.try_emplace(group, placement[op]).first->second;
  }
  return placement;
}

}  // namespace emplace
