// Where the indices come from by which some ops write.
#pragma once

#include "simulator/graph/op_graph.h"

namespace emplace {

// The kernels of some backward ops write wherever an index says, in the tensor or beyond. Throws BadInput for such an
// op whose indices are not what its own forward op has found in the same tensor, and for embedding_dense_backward that
// scales by frequency, whose indices come from anywhere. REQUIRES: each call can be parsed (ParseAtenCall).
void CheckIndexSources(const OpGraph& graph);

}  // namespace emplace
