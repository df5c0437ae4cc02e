// Tensor program -> op graph with costs by device kind.
#pragma once

#include <string>
#include <vector>

#include "simulator/families/cost_model.h"
#include "simulator/families/tensor_program.h"
#include "simulator/op_graph.h"

namespace emplace {

// Views are folded away: a reader of a piece depends on the op that makes the whole, which is what a transfer moves.
// Parameters and inputs are ops of no cost. A parameter's output is the weight itself, which the simulator holds while
// anybody may read it; its param_bytes are the buffers beside it, resident throughout: one for the gradient and
// one for each slot of the optimizer. temp_bytes are the workspace of convolutions. An op's stage is in its attrs.
OpGraph Lower(const std::string& name, const TensorProgram& program, const std::vector<DeviceKind>& kinds);

}  // namespace emplace
