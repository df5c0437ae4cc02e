// Ops that cost nothing and read nothing, such as parameters: free sources.
//
// Where they go before all else, a device runs them at time 0, and nothing waits for them but their readers. So the
// event loop (event_loop.h) runs all of a device's as one event, and keeps them out of queues and log. That spares
// events, and above all a search that moves some together with their readers need not simulate from the start on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// [n] 1: the op costs nothing where it may run, and has no inputs; to send any of its tensors takes time. Otherwise a
// delivery at time 0 could come between two of a device's.
std::vector<uint8_t> FreeSources(const SimGraph& graph);

// Puts the free sources among the ops before the others. Both keep their order.
void PutFreeSourcesFirst(const SimGraph& graph, std::vector<OpIndex>& ops);

}  // namespace emplace
