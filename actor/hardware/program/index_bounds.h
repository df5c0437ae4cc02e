// Which whole numbers a graph can be given. A step is timed with made-up numbers; tokens and labels among them have to
// be rows and classes that are there.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/graph/op_graph.h"

namespace emplace {

// [n] for each op the number below which the whole numbers of its first output have to be: the least among the sizes
// that they are an index into, by the calls of the ops that read them, also through ops that only copy them. At least
// 1; 2 where no op takes them for an index. REQUIRES: each call can be parsed (ParseAtenCall).
std::vector<int64_t> IndexBounds(const OpGraph& graph);

}  // namespace emplace
