// The order of units, which are sets of ops that have to be together.
//
// Units can form cycles although ops cannot: the unit of a parameter and its update comes before and after all that
// reads the parameter, and so does a unit of forward ops and their gradients. Within a cycle, an edge counts if it
// leads to a unit of a higher number, and units are numbered by their first op. The edges against these numbers, the
// feedback edges, order nothing. An edge that is part of no cycle always counts, whatever the numbers of its ends.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

using UnitEdge = std::pair<int32_t, int32_t>;  // From, to.

// Returns the place [units] of each unit in the topological order of the edges that count. Of the units that could come
// next, the lowest number does; so where all edges lead to higher numbers, each unit keeps its number. Edges may be
// repeated. Takes time linear in units and edges, but for a heap.
std::vector<int32_t> OrderUnits(int32_t units, std::span<const UnitEdge> edges);

}  // namespace emplace
