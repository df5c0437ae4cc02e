// Orders, longest paths and the makers of tensors of a graph, without a placement.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// The ops in the order in which they get ready, those that no cycle holds up; of ops that are ready together, the one
// that was ready first comes first.
std::vector<OpIndex> ReadyOrder(const SimGraph& graph);

// ReadyOrder of a graph without a cycle, [n]: a topological order.
std::vector<OpIndex> TopologicalOrder(const SimGraph& graph);

// The cost of each op [n] in us on the device where it is fastest.
std::vector<double> LeastCostsUs(const SimGraph& graph);

// The number of ops on the longest way to each op [n].
std::vector<int32_t> OpDepths(const SimGraph& graph);
// The number of ops on the longest way from each op [n] to the end of the graph.
std::vector<int32_t> DistancesToEnd(const SimGraph& graph);

// The head of each op [n]: the longest path in us before it starts, where op o takes cost_us[o] and no transfer takes
// time.
std::vector<double> HeadsUs(const SimGraph& graph, std::span<const double> cost_us);
// The tail of each op [n]: the longest path in us from its end to the end of the graph, with each op at its least cost
// and without transfers. No run can be shorter than the end of an op plus its tail.
std::vector<double> TailsUs(const SimGraph& graph);

// [T] the op that makes each tensor.
std::vector<OpIndex> TensorProducers(const SimGraph& graph);

}  // namespace emplace
