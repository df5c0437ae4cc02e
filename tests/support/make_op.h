// An op of a graph that a test writes out by hand.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulator/graph/op_graph.h"

namespace emplace {

// With an output of each of these sizes.
inline Op MakeOp(const std::string& name, OpCost cost, std::vector<OpInput> inputs,
                 const std::vector<int64_t>& output_bytes) {
  Op op;
  op.name = name;
  op.type = "t";
  op.cost = std::move(cost);
  op.inputs = std::move(inputs);
  for (const int64_t bytes : output_bytes) op.outputs.push_back({.bytes = bytes, .shape = {}, .dtype = ""});
  return op;
}

// Taking as long on any device.
inline Op MakeOp(const std::string& name, double cost_us, std::vector<OpInput> inputs,
                 const std::vector<int64_t>& output_bytes = {10}) {
  return MakeOp(name, OpCost::Everywhere(cost_us), std::move(inputs), output_bytes);
}

}  // namespace emplace
