// Graphs and machines whose costs are multiplied by factors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"

namespace emplace {

struct Costs {
  OpGraph graph;
  Cluster machine;
};

// The graph with factor(op, kind) times the cost of each op on each kind of device of the machine that may run it.
OpGraph ScaleOps(const OpGraph& graph, const Cluster& machine,
                 const std::function<double(OpIndex op, const std::string& kind)>& factor);
// The machine with factor(link) times the time of any transfer over each link of its topology. Other machines have one
// bandwidth and one latency: these get factor(0).
Cluster ScaleLinks(const Cluster& machine, const std::function<double(size_t link)>& factor);

// Costs that are changed at random, so that a simulated search on them finds a placement that is about as good by the
// right costs, but another one: with fewer transfers, or with more.
// All ops of a type cost the same factor more or less on a kind of device, and all links take the same factor more or
// less time. Factors are log-normal: the logarithm of an op's factor has the deviation `spread`, that of the links' ten
// times as much, for what the simulator leaves out, as how copying disturbs the device that reads, is mostly about
// transfers. Deterministic in the seed. REQUIRES: 0 <= spread <= 0.3.
Costs VaryCosts(const Costs& costs, double spread, uint64_t seed);

}  // namespace emplace
