// A placed graph as what each device does in turn: which ops it runs, which tensors they read, which tensors come from
// other devices, and when a tensor is no longer needed. Plain data without tensors; immutable once compiled.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/graph/device_order.h"
#include "simulator/graph/op_graph.h"
#include "simulator/graph/placement.h"

namespace emplace {

// A tensor on a device: an output of an op on the op's own device, or a copy of it on another one. The signal of a
// control edge is a value without a tensor.
struct StepValue {
  static constexpr int32_t kNone = -1;

  OpIndex op = 0;
  int32_t output = 0;      // Index into the op's outputs; OpInput::kControl for a signal.
  DeviceIndex device = 0;  // Where the value is.
  int32_t source = kNone;  // The value that it is a copy of; kNone: the op makes it.
  int32_t readers = 0;     // Number of instructions and copies that read it in a step.
  bool stays = false;      // Whether it outlives the step: what is given, and the step's results.
};

// An op on its device. All indices of values are into StepProgram::values.
struct StepInstruction {
  OpIndex op = 0;
  bool given = false;                 // Parameters, inputs and constants compute nothing: their value is there.
  std::vector<int32_t> inputs = {};   // The value of each of the op's inputs; kNone for a control edge.
  std::vector<int32_t> reads = {};    // The same values, each once, ascending.
  std::vector<int32_t> awaits = {};   // Values that come from other devices and must be here first.
  std::vector<int32_t> outputs = {};  // The value of each of the op's outputs; kNone: nobody reads the output.
  // Copies and signals on other devices that can be made once the op has ended, in the order in which they are sent:
  // by the first op that each serves.
  std::vector<int32_t> sends = {};
};

struct StepProgram {
  std::vector<StepValue> values;
  std::vector<std::vector<StepInstruction>> devices;  // [D] in the order in which the device runs them.
  std::vector<OpIndex> left_out;                      // Ops that are not run: those of the caller's optimizer.
  std::vector<OpIndex> results;                       // Ops whose outputs a step leaves.
};

// Whether the op's tensor is there before the step: emplace.parameter, emplace.input, emplace.constant.
bool IsGiven(const Op& op);
// Whether the executor does not run the op: an emplace.update or emplace.refresh without a call belongs to the caller's
// optimizer.
bool IsLeftOut(const Op& op);

// The graph without what costs time and is not run: ops that are not run cost 0, and those left out get no tensors, so
// that a simulation predicts what is measured.
OpGraph WithoutCostsOfOpsNotRun(const OpGraph& graph);
// Orders of that graph for the whole one: on each device the ops that are left out come last, behind what they read.
DeviceOrders WithLeftOutLast(const OpGraph& graph, DeviceOrders orders);

// orders: [D] the order in which each device runs all its ops, as Simulator::StartOrders gives it. Results are the ops
// emplace.output, emplace.gradient and emplace.buffer, and those that no op reads.
// REQUIRES: the placement is legal (CheckPlacement), and the orders can be followed (CheckOrders).
StepProgram CompileStep(const OpGraph& graph, const Placement& placement, const DeviceOrders& orders);

}  // namespace emplace
