// Turns a tensor program into an op graph with costs by device kind.
#pragma once

#include <string>
#include <vector>

#include "simulator/families/program/device_kind.h"
#include "simulator/families/program/tensor_program.h"
#include "simulator/graph/op_graph.h"

namespace emplace {

// Views become no ops: a reader of a piece depends on the op that makes the whole tensor, and a transfer moves the
// whole. Parameters and inputs are ops of zero cost with a resident output. A parameter's param_bytes are its own bytes
// and as many for each slot of the optimizer. temp_bytes are the workspace of convolutions. An op's stage is in its
// attrs. Ops of micro-batches after the first are copies (Op::copy_of) of the first one's.
// In a program that can be run, ops get the calls for that (aten_calls.h), and what is given the name of what it is.
// Its updates keep no slots, so none are counted.
// Outputs that a call leaves out before the op's own keep their place, with 0 bytes, as in captured graphs.
OpGraph Lower(const std::string& name, const TensorProgram& program, const std::vector<DeviceKind>& kinds);

}  // namespace emplace
