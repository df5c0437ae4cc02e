// What ops cost on a machine, and how many bytes they hold and send.
#pragma once

#include <vector>

#include "common/rng.h"
#include "simulator/graph/op_graph.h"
#include "simulator/instances/random_machine.h"

namespace emplace {

// Replaces the costs of ops, which are the same on all devices, by costs on the machine's kinds, and scales all bytes:
//  - Costs and bytes are multiplied by random factors: one for each type of ops, and one for each op. A copy has those
//    of its original.
//  - A kind is as fast as its speed says, times a random factor for each type. In some machines, the kinds after the
//    first cannot run some types, but each can run something that costs anything.
//  - The mean cost of what costs anything is 3 to 3,000 us, and sending every tensor once takes 0.01 to 10 times as
//    long as computing everything, both on a logarithmic scale.
// Shapes, element types, calls and `allowed` are left out. REQUIRES: the machine has at least two devices, or none of
// the ops sends anything.
void DrawCosts(Rng& rng, const RandomMachine& machine, std::vector<Op>& ops);

}  // namespace emplace
