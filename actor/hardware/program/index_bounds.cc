#include "actor/hardware/program/index_bounds.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "actor/hardware/program/aten_call.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr int64_t kNoBound = std::numeric_limits<int64_t>::max();
constexpr int64_t kUnknownSize = 1;  // 0 is an index into everything that is not empty.

using Shape = std::vector<int64_t>;

// An operator that takes an argument for indices into a dimension of another argument.
struct IndexReader {
  std::string_view op;  // Without "aten." and overload.
  size_t indices;       // Position of the indices among the arguments.
  size_t indexed;       // Position of the tensor whose size bounds them.
  int dim;              // kArgument1: the dimension is the argument at position 1.
};
constexpr int kArgument1 = -1;
constexpr std::array kIndexReaders = {IndexReader{"embedding", 1, 0, 0},
                                      IndexReader{"_embedding_bag", 1, 0, 0},
                                      IndexReader{"_embedding_bag_forward_only", 1, 0, 0},
                                      IndexReader{"nll_loss_forward", 1, 0, 1},
                                      IndexReader{"nll_loss_backward", 2, 1, 1},
                                      IndexReader{"nll_loss2d_forward", 1, 0, 1},
                                      IndexReader{"nll_loss2d_backward", 2, 1, 1},
                                      IndexReader{"gather", 2, 0, kArgument1},
                                      IndexReader{"index_select", 2, 0, kArgument1},
                                      IndexReader{"index_add", 2, 0, kArgument1},
                                      IndexReader{"index_copy", 2, 0, kArgument1},
                                      IndexReader{"index_fill", 2, 0, kArgument1},
                                      IndexReader{"index_reduce", 2, 0, kArgument1},
                                      IndexReader{"scatter", 2, 0, kArgument1},
                                      IndexReader{"scatter_reduce", 2, 0, kArgument1},
                                      IndexReader{"scatter_add", 2, 0, kArgument1}};
// Operators whose output holds the numbers of their inputs.
constexpr std::array<std::string_view, 10> kCopies = {"alias",           "clone",  "_to_copy", "cat",  "stack",
                                                      "constant_pad_nd", "repeat", "where",    "roll", "index_select"};

std::optional<int64_t> IntegerAt(const AtenCall& call, size_t position) {
  if (position >= call.args.size()) return std::nullopt;
  const auto* const constant = std::get_if<AtenConstant>(&call.args[position].value);
  const auto* const integer = constant == nullptr ? nullptr : std::get_if<int64_t>(constant);
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

// The shape in which an op sees an input; nullopt where that would take more than the last view to say.
std::optional<Shape> ShapeSeen(const OpGraph& graph, const Op& op, const TensorArgument& argument) {
  if (argument.views.empty()) {
    const OpInput& input = op.inputs[argument.input];
    return graph.op(input.producer).outputs[static_cast<size_t>(input.output)].shape;
  }
  const ViewCall& last = argument.views.back();
  const auto* const shape = last.args.empty() ? nullptr : std::get_if<Shape>(&last.args.front());
  const bool says_shape = last.op == "aten.view.default" || last.op == "aten.reshape.default";
  if (!says_shape || shape == nullptr) return std::nullopt;
  return *shape;
}

int64_t SizeOf(const OpGraph& graph, const Op& op, const TensorArgument* indexed, int64_t dim) {
  const std::optional<Shape> shape = indexed == nullptr ? std::nullopt : ShapeSeen(graph, op, *indexed);
  if (!shape || shape->empty()) return kUnknownSize;
  const auto dims = static_cast<int64_t>(shape->size());
  if (dim < 0) dim += dims;
  // A loss of a single example has no dimension of examples.
  const int64_t size = (*shape)[static_cast<size_t>(std::clamp<int64_t>(dim, 0, dims - 1))];
  return std::max(size, kUnknownSize);
}

class Bounds {
 public:
  explicit Bounds(const OpGraph& graph) : graph_(graph), bounds_(static_cast<size_t>(graph.num_ops()), kNoBound) {}

  std::vector<int64_t> Find() {
    const std::vector<OpIndex>& order = graph_.topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op) {
      if (!graph_.op(*op).call_json.empty()) Read(*op);
    }
    for (int64_t& bound : bounds_) {
      if (bound == kNoBound) bound = 2;
    }
    return bounds_;
  }

 private:
  void Lower(const Op& op, const TensorArgument* argument, int64_t bound) {
    if (argument == nullptr || op.inputs[argument->input].output != 0) return;
    int64_t& known = bounds_[static_cast<size_t>(op.inputs[argument->input].producer)];
    known = std::min(known, bound);
  }

  // Lowers the bounds of the inputs of an op whose own bound is known.
  void Read(OpIndex index) {
    const Op& op = graph_.op(index);
    const AtenCall call = ParseAtenCall(op);
    const std::vector<std::string> parts = Split(call.op, '.');
    const std::string& name = parts[1];
    for (const IndexReader& reader : kIndexReaders) {
      if (reader.op != name) continue;
      const int64_t dim = reader.dim == kArgument1 ? IntegerAt(call, 1).value_or(0) : reader.dim;
      Lower(op, TensorAt(call, reader.indices), SizeOf(graph_, op, TensorAt(call, reader.indexed), dim));
    }
    if (name == "embedding_dense_backward") {
      Lower(op, TensorAt(call, 1), std::max(IntegerAt(call, 2).value_or(kUnknownSize), kUnknownSize));
    }
    // Where bags begin: 0 and then ascending.
    if (name.starts_with("_embedding_bag")) Lower(op, TensorAt(call, 2), kUnknownSize);
    if ((name == "index" || name == "index_put") && call.args.size() > 1) {
      const auto* const indices = std::get_if<AtenList>(&call.args[1].value);
      for (size_t dim = 0; indices != nullptr && dim < indices->size(); ++dim) {
        Lower(op, std::get_if<TensorArgument>(&(*indices)[dim].value),
              SizeOf(graph_, op, TensorAt(call, 0), static_cast<int64_t>(dim)));
      }
    }
    if (std::find(kCopies.begin(), kCopies.end(), name) == kCopies.end()) return;
    for (const AtenArgument& argument : call.args) {
      const int64_t bound = bounds_[static_cast<size_t>(index)];
      Lower(op, std::get_if<TensorArgument>(&argument.value), bound);
      const auto* const list = std::get_if<AtenList>(&argument.value);
      for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
        Lower(op, std::get_if<TensorArgument>(&(*list)[i].value), bound);
      }
    }
  }

  const OpGraph& graph_;
  std::vector<int64_t> bounds_;
};

}  // namespace

std::vector<int64_t> IndexBounds(const OpGraph& graph) { return Bounds(graph).Find(); }

}  // namespace emplace
