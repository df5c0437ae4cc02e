// A computation graph: ops, the tensors that they make, and the cost of each op.
// Immutable once built; any thread may read one.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/csr.h"
#include "common/ids.h"
#include "simulator/graph/op_cost.h"

namespace emplace {

struct OpOutput {
  int64_t bytes = 0;
  std::optional<std::vector<int64_t>> shape;  // Empty for a scalar; nullopt when not known.
  std::string dtype;                          // "f32"; empty when not known.
  // Whether the tensor is part of the op's param_bytes, as a parameter is: it takes no memory of its own there.
  bool resident = false;
};

struct OpInput {
  static constexpr int32_t kControl = -1;
  OpIndex producer = 0;
  int32_t output = 0;  // Index into the producer's outputs. kControl: the producer only has to run before.
};

struct Op {
  std::string name;
  std::string type;  // "aten.mm"
  OpCost cost = OpCost::Everywhere(0);
  std::vector<OpInput> inputs;
  std::vector<OpOutput> outputs;
  double flops = 0;
  int64_t param_bytes = 0;           // Bytes that the op occupies on its device for the whole step.
  int64_t temp_bytes = 0;            // Bytes that the op occupies while it runs.
  std::string group;                 // Ops with the same non-empty group go on the same device.
  std::vector<std::string> allowed;  // Device kinds that may run the op; empty: all that `cost` has.
  OpIndex copy_of = kNoCopy;         // The op of the first micro-batch that this one repeats; kNoCopy: it repeats none.
  std::string attrs_json;            // The `attrs` object as compact JSON text; empty when absent.
  std::string call_json;             // The `call` object (how an executor runs the op), likewise.

  static constexpr OpIndex kNoCopy = -1;

  bool AllowsKind(const std::string& kind) const;  // Whether `allowed` lets the kind run the op.
  bool AllowedOn(const std::string& kind) const;   // Whether `allowed` and `cost` do.
  int64_t OutputBytes() const;                     // Sum over outputs.
  int64_t ResidentOutputBytes() const;             // Sum over those that are resident.
  // All that the op needs on its device: parameters, workspace and outputs, what is resident once.
  int64_t AllBytes() const { return param_bytes + temp_bytes + OutputBytes() - ResidentOutputBytes(); }
};

// That an op reads an output of another one.
struct OpRead {
  OpIndex reader = 0;
  int32_t output = 0;  // As OpInput::output.
};

class OpGraph {
 public:
  // Throws BadInput, which names the op, for a name that is empty, used twice or starts with '^', an input out of
  // range, a copy of itself or of another copy, a cycle, costs by kind without a kind, a number that is negative or not
  // finite, resident outputs of more bytes than param_bytes, and sums of bytes or microseconds of 2^63 or more.
  OpGraph(std::string name, std::vector<Op> ops, std::string meta_json = "");

  const std::string& name() const { return name_; }
  // What the file's `meta` says of the graph as a whole, as compact JSON text of an object; empty when absent.
  const std::string& meta_json() const { return meta_json_; }
  const std::vector<Op>& ops() const { return ops_; }
  int32_t num_ops() const { return static_cast<int32_t>(ops_.size()); }
  const Op& op(OpIndex index) const { return ops_[static_cast<size_t>(index)]; }
  // The sum of param_bytes but of what a step is given, ops of type emplace.input and emplace.constant: parameters,
  // buffers, and what the optimizer keeps of them.
  int64_t ParameterBytes() const;
  // Row o: the ops that read o (data or control), ascending, no repeats.
  const Csr& consumers() const { return consumers_; }
  // What ops read of this one, in ascending order of the readers; each reader's in the order of its inputs.
  std::span<const OpRead> ReadsOf(OpIndex producer) const {
    const auto p = static_cast<size_t>(producer);
    return std::span(reads_).subspan(reads_begin_[p], reads_begin_[p + 1] - reads_begin_[p]);
  }
  // A topological order (Kahn's); of the ops that are ready, the lowest index comes first.
  const std::vector<OpIndex>& topological_order() const { return topological_order_; }
  // The kinds of devices that the ops name: where they cost something of their own, and where they are allowed.
  std::set<std::string> DeviceKinds() const;

 private:
  void IndexReads();

  std::string name_;
  std::string meta_json_;
  std::vector<Op> ops_;
  Csr consumers_;
  std::vector<size_t> reads_begin_;  // [n + 1] into reads_
  std::vector<OpRead> reads_;
  std::vector<OpIndex> topological_order_;
};

// Whether an op's outputs are what a step leaves: those of a type that says so (emplace.output, emplace.gradient,
// emplace.buffer), and those of an op that no op reads.
bool OutputsStay(const OpGraph& graph, OpIndex op);

}  // namespace emplace
