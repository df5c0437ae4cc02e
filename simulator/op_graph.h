// A computation graph: ops, the tensors they make, and what each op costs (design, section 3).
// Immutable once built; any thread may read one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/csr.h"
#include "common/ids.h"

namespace emplace {

// What an op costs, in microseconds: the same everywhere, or by device kind. A kind that the map lacks cannot run it.
class OpCost {
 public:
  static OpCost Everywhere(double us) { return OpCost(us, {}); }
  static OpCost ByKind(std::map<std::string, double> us) { return OpCost(std::nullopt, std::move(us)); }

  std::optional<double> On(const std::string& kind) const {
    if (everywhere_) return everywhere_;
    const auto found = by_kind_.find(kind);
    return found == by_kind_.end() ? std::nullopt : std::optional<double>(found->second);
  }
  bool is_uniform() const { return everywhere_.has_value(); }
  const std::map<std::string, double>& by_kind() const { return by_kind_; }

 private:
  OpCost(std::optional<double> everywhere, std::map<std::string, double> by_kind)
      : everywhere_(everywhere), by_kind_(std::move(by_kind)) {}
  std::optional<double> everywhere_;
  std::map<std::string, double> by_kind_;
};

struct OpOutput {
  int64_t bytes = 0;
  std::optional<std::vector<int64_t>> shape;  // Of a scalar: empty. nullopt when not known.
  std::string dtype;                          // "f32"; empty when not known.
};

struct OpInput {
  static constexpr int32_t kControl = -1;
  OpIndex producer = 0;
  int32_t output = 0;  // Index into the producer's outputs, or kControl: order only, 0 bytes.
};

struct Op {
  std::string name;
  std::string type;  // "aten.mm"
  OpCost cost = OpCost::Everywhere(0);
  std::vector<OpInput> inputs;
  std::vector<OpOutput> outputs;
  double flops = 0;
  int64_t param_bytes = 0;           // Resident wherever the op is placed.
  int64_t temp_bytes = 0;            // While it runs.
  std::string group;                 // Ops of one non-empty group go together.
  std::vector<std::string> allowed;  // Device kinds; empty = all that `cost` knows.
  std::string attrs_json;            // The `attrs` object as compact JSON text; empty when absent.

  bool AllowedOn(const std::string& kind) const;  // By `allowed` and by `cost`.
  int64_t OutputBytes() const;                    // Sum over outputs.
};

class OpGraph {
 public:
  // Checks everything section 3 asks for; throws BadInput naming the op: duplicate or empty name or one that starts
  // with '^', input out of range, cycle, negative or non-finite number, sums of bytes or microseconds past 2^63.
  OpGraph(std::string name, std::vector<Op> ops);

  const std::string& name() const { return name_; }
  const std::vector<Op>& ops() const { return ops_; }
  int32_t num_ops() const { return static_cast<int32_t>(ops_.size()); }
  const Op& op(OpIndex index) const { return ops_[static_cast<size_t>(index)]; }
  // Row o: the ops that read o (data or control), ascending, no repeats.
  const Csr& consumers() const { return consumers_; }
  // Kahn's order with the lowest op index first among the ready.
  const std::vector<OpIndex>& topological_order() const { return topological_order_; }

 private:
  std::string name_;
  std::vector<Op> ops_;
  Csr consumers_;
  std::vector<OpIndex> topological_order_;
};

}  // namespace emplace
