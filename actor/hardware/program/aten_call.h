// How an op of a graph is run: the operator of PyTorch and its arguments, as the field `call` of the graph says.
//
//   {"op": "aten.addmm.default", "args": [{"in": 0, "views": [["aten.slice.Tensor", [0, 0, 2, 1]]]},
//                                         {"const": [2, 32], "as": "int[]"}, {"list": [{"in": 1}]}], "kwargs": {}}
//
// This header knows no LibTorch: what a call says can be checked before a tensor is made.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "simulator/graph/op_graph.h"

namespace emplace {

// A constant that JSON has no type of its own for: a type of numbers, a memory format, or a layout.
struct NamedConstant {
  enum class Kind : uint8_t { kDtype, kMemoryFormat, kLayout };
  Kind kind = Kind::kDtype;
  std::string name;  // "f32", "channels_last", "strided"

  bool operator==(const NamedConstant&) const = default;
};

// std::monostate is None.
using AtenConstant = std::variant<std::monostate, bool, int64_t, double, std::string, NamedConstant, std::vector<bool>,
                                  std::vector<int64_t>, std::vector<double>>;

// A view operator, applied to a tensor before an op reads it.
struct ViewCall {
  std::string op;                  // "aten.slice.Tensor"
  std::vector<AtenConstant> args;  // The arguments after the tensor.

  bool operator==(const ViewCall&) const = default;
};

// The tensor of an input of the op, seen through views, the first one first.
struct TensorArgument {
  size_t input = 0;  // Index into the op's inputs.
  std::vector<ViewCall> views = {};
};

struct AtenArgument;
using AtenList = std::vector<AtenArgument>;
struct AtenArgument {
  std::variant<TensorArgument, AtenConstant, AtenList> value;
};

struct AtenCall {
  std::string op;                  // "aten.addmm.default"
  std::vector<AtenArgument> args;  // By position.
  std::vector<std::pair<std::string, AtenArgument>> kwargs;
};

// The argument at this position; nullptr: there is none, or it is no tensor.
const TensorArgument* TensorAt(const AtenCall& call, size_t position);

// A number, or the text of one that JSON does not have: inf, -inf or nan. nullopt: it is neither.
std::optional<double> FloatOf(const nlohmann::json& value);

// Reads the call of an op. Throws BadInput "op 'x': call: ..." for an op without a call, a call that is not of the form
// above, an operator outside the list of allowed_ops.h, and an input that is missing or a control edge.
AtenCall ParseAtenCall(const Op& op);

}  // namespace emplace
