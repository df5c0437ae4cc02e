#include "actor/hardware/program/index_sources.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "actor/hardware/program/aten_call.h"
#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

// A backward op, which takes the forward op's first argument at position 1 and its second output, the indices.
struct Unchecked {
  std::string_view backward;
  std::string_view forward;
  size_t indices;  // Position of the indices among the arguments.
};
constexpr std::array kUnchecked = {
    Unchecked{"aten.adaptive_max_pool2d_backward.default", "aten.adaptive_max_pool2d.default", 2},
    Unchecked{"aten.adaptive_max_pool3d_backward.default", "aten.adaptive_max_pool3d.default", 2},
    Unchecked{"aten.max_pool2d_with_indices_backward.default", "aten.max_pool2d_with_indices.default", 7},
    Unchecked{"aten.max_pool3d_with_indices_backward.default", "aten.max_pool3d_with_indices.default", 7}};

constexpr size_t kScalesByFrequency = 4;  // Position of this argument of embedding_dense_backward.

// Whether `indices` are the second output of an op `forward` of `tensor`.
bool ComesFrom(const OpGraph& graph, const Op& op, std::string_view forward, const TensorArgument& tensor,
               const TensorArgument& indices) {
  const OpInput& source = op.inputs[indices.input];
  const Op& producer = graph.op(source.producer);
  if (source.output != 1 || !indices.views.empty() || producer.call_json.empty()) return false;
  const AtenCall call = ParseAtenCall(producer);
  const TensorArgument* const pooled = TensorAt(call, 0);
  if (call.op != forward || pooled == nullptr || pooled->views != tensor.views) return false;
  const OpInput& mine = op.inputs[tensor.input];
  const OpInput& its = producer.inputs[pooled->input];
  return mine.producer == its.producer && mine.output == its.output;
}

void CheckOp(const OpGraph& graph, const Op& op) {
  const AtenCall call = ParseAtenCall(op);
  const auto error = [&](const std::string& what) { return BadInput(StrCat("op '", op.name, "': call: ", what)); };
  if (call.op == "aten.embedding_dense_backward.default") {
    const bool* scales = nullptr;
    if (call.args.size() > kScalesByFrequency) {
      const auto* const constant = std::get_if<AtenConstant>(&call.args[kScalesByFrequency].value);
      scales = constant != nullptr ? std::get_if<bool>(constant) : nullptr;
    }
    if (scales == nullptr || *scales)
      throw error("scale_grad_by_freq is not false, expected false: indices are not checked");
  }
  const auto* const unchecked = std::ranges::find(kUnchecked, call.op, &Unchecked::backward);
  if (unchecked == kUnchecked.end()) return;
  const TensorArgument* const tensor = TensorAt(call, 1);
  const TensorArgument* const indices = TensorAt(call, unchecked->indices);
  if (tensor == nullptr || indices == nullptr || !ComesFrom(graph, op, unchecked->forward, *tensor, *indices)) {
    throw error(StrCat("expected as indices the second output of ", unchecked->forward, " of argument 1"));
  }
}

}  // namespace

void CheckIndexSources(const OpGraph& graph) {
  for (const Op& op : graph.ops()) {
    if (!op.call_json.empty()) CheckOp(graph, op);
  }
}

}  // namespace emplace
