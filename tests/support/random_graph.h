// Random graphs and clusters with many of the cases that are easy to get wrong: equal costs (ties), zero costs, control
// edges, several outputs, an output that one op reads twice, zero bytes, no overheads, parallel links, no latency,
// resident outputs. Both rules of memory.
#pragma once

#include "common/rng.h"
#include "simulator/graph/op_graph.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"

namespace emplace {

struct RandomGraphOptions {
  int32_t max_ops = 30;
  int32_t max_devices = 4;
  double edge_density = 1.5;  // Mean number of inputs of an op.
  int32_t parameters = 0;     // The graph begins with so many free sources (simulator/engine/free_sources.h) more.
  LinkModel link_model = LinkModel::kShared;
  bool blocking = false;  // Whether transfers block devices, for all of their time or a part of it.
};

OpGraph RandomGraph(Rng& rng, const RandomGraphOptions& options = {});
Cluster RandomCluster(Rng& rng, const RandomGraphOptions& options = {});
Placement RandomPlacement(Rng& rng, const OpGraph& graph, const Cluster& cluster);
// Orders that can be followed, of all devices or of some.
DeviceOrders RandomOrders(Rng& rng, const OpGraph& graph, const Cluster& cluster, const Placement& placement);

}  // namespace emplace
