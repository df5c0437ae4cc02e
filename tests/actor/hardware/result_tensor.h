// The first output of an op that outlives a step, as a tensor.
#pragma once

#include <torch/types.h>

#include "actor/hardware/executor.h"
#include "simulator/graph/op_graph.h"

namespace emplace {

// REQUIRES: the output is of type f32, f64 or i64, and has a shape.
torch::Tensor ResultTensor(const OpGraph& graph, const Executor& executor, OpIndex op);

}  // namespace emplace
