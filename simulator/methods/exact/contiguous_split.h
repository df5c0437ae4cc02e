// The contiguous division of a graph among devices under which the most loaded device has least to do, by the dynamic
// programs DP and DPL of Tarnawski et al., "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS
// 2020, on throughput maximization).
//
// An ideal is a set of nodes that has, with each node, all that come before it. A device gets the difference of two
// ideals, so that the devices have an order in which data flows. A device's load is the cost of its nodes, plus the
// time of each tensor that it sends or receives, once. The graph runs as a pipeline at one step for each time of the
// greatest load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/threads/stop.h"

namespace emplace {

// n nodes, C classes of devices.
struct SplitProblem {
  struct Node {
    std::vector<double> cost_us;  // [C] infinity: may not run there
    double bytes = 0;             // Memory that the node occupies on its device.
  };
  struct Tensor {
    double us = 0;  // Time that its transfer adds to a device.
    int32_t maker = 0;
    std::vector<int32_t> readers;  // Distinct, without the maker; at least one. They may have lower numbers.
  };
  struct DeviceClass {  // Devices that cannot be told apart.
    std::vector<DeviceIndex> devices;
    double room_bytes = 0;  // Of each.
  };

  std::vector<Node> nodes;
  std::vector<std::pair<int32_t, int32_t>> edges;  // What comes before what: from lower to higher nodes.
  std::vector<Tensor> tensors;
  std::vector<DeviceClass> classes;
};

struct GraphSplit {
  double max_load_us = 0;              // Infinity: there is no split within the memory.
  std::vector<DeviceIndex> device_of;  // [n]; empty: there is no split
};

// Returns the best split on exactly k devices, for k = 1, 2, ... up to all. If the graph has more than `most_ideals`
// ideals, its nodes are first put into one depth-first topological order, of which the prefixes are the ideals (as the
// paper's DPL does), and if it has more than `most_stretches` nodes, neighbours in that order are joined into stretches
// of even cost which some device may run together. The program keeps, for each ideal, a load for each number of devices
// of each class, and takes a step for each of these, class and two ideals. Where that would be more than `most_steps`,
// there are fewer ideals and stretches, down to kFewestStretches, and then the slowest devices are left out.
inline constexpr size_t kFewestStretches = 100;
struct SplitLimits {
  size_t most_ideals = 3000;
  size_t most_stretches = 1000;
  double most_steps = 4e9;  // Some seconds.
  StopSignal stop = {};     // Throws Stopped.
};
std::vector<GraphSplit> ContiguousSplits(const SplitProblem& problem, const SplitLimits& limits = {});

}  // namespace emplace
