// Smaller graphs out of larger ones. All functions take and return ops in a topological order.
#pragma once

#include <cstdint>
#include <vector>

#include "common/rng.h"
#include "simulator/graph/op_graph.h"

namespace emplace {

// The ops marked in kept [n], with the edges between them. Of copies of an op that is left out, the first one that is
// kept takes its place.
std::vector<Op> KeptOps(std::vector<Op> ops, const std::vector<uint8_t>& kept);

// So many ops that are close together: a stretch of the topological order that starts anywhere, with the parameters and
// inputs that it reads. All ops if there are no more.
std::vector<Op> CutOut(Rng& rng, std::vector<Op> ops, int32_t count);

// Joins random ops and their readers until so many are left, or nothing more can be joined: a joined op takes as long
// as its parts. Only ops that may be together by their groups are joined; copies are no longer marked as such.
std::vector<Op> Contracted(Rng& rng, const std::vector<Op>& ops, int32_t count);

}  // namespace emplace
