// A simulated run as rows of a display, for the trace and the report: the links that a transfer occupies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/engine/sim_graph.h"
#include "simulator/engine/timeline.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// The name of each device's sending link ("link of gpu:0"), or, with a topology, of each direction of each link
// ("nvlink0, gpu:0 to gpu:1").
std::vector<std::string> LinkNames(const Cluster& cluster);
// The links that a transfer occupies, as indices into LinkNames.
std::vector<int32_t> LinksOf(const SimGraph& sim, const Transfer& transfer);

}  // namespace emplace
