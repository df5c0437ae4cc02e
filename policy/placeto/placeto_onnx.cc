#include "policy/placeto/placeto_onnx.h"

#include <limits>
#include <map>
#include <span>

#include "common/files/onnx_writer.h"
#include "common/strings.h"
#include "policy/placeto/placeto_kind.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace {
namespace {

using Name = std::string;  // Of a tensor.

class PlacetoNetwork {
 public:
  explicit PlacetoNetwork(const PolicyWeights& weights)
      : shape_(PlacetoShape::Of(weights.shape)), onnx_("emplace placeto policy") {
    std::span<const float> rest = weights.values;
    for (const ParameterSpec& parameter : PlacetoKind().Parameters(weights.shape)) {
      const size_t count = NumEntries(parameter);
      onnx_.Constant(parameter.name, parameter.shape, rest.first(count));
      rest = rest.subspan(count);
    }
    first_ = Int("first", 0);
    second_ = Int("second", 1);
    zero_ = Floats("zero", {1}, {0});
    one_ = Floats("one", {1}, {1});
    const Name groups = onnx_.Add("Gather", {onnx_.Add("Shape", {"features"}), first_});  // int64 [1]: n
    zero_column_ = Zeros(groups, second_);
    zero_messages_ = Zeros(groups, Int("width", shape_.width()));
  }

  std::string Model(const std::map<std::string, std::string>& metadata) {
    AddInputs();
    const Name self = Mlp("self", 3, "features", /*relu_at_end=*/false);
    // [n, 2m] e: both directions
    const Name embedding =
        onnx_.Add("Concat", {Messages(self, "forward", first_, second_), Messages(self, "backward", second_, first_)},
                  {{"axis", 1}});
    // [1, n] 1 for the current group
    const Name current = onnx_.Add("Transpose", {onnx_.Add("Gather", {"features", Int("last", -1)}, {{"axis", 1}})});
    const Name ancestors = Row("ancestors");
    const Name descendants = Row("descendants");
    const Name neither =
        onnx_.Add("Sub", {onnx_.Add("Sub", {onnx_.Add("Sub", {one_, current}), ancestors}), descendants});
    const Name pooled = onnx_.Add("Concat",
                                  {Pool("ancestors", ancestors, embedding), Pool("descendants", descendants, embedding),
                                   Pool("neither", neither, embedding), onnx_.Add("MatMul", {current, embedding})},
                                  {{"axis", 1}});
    const Name row = onnx_.Add("Squeeze", {Mlp("classifier", 3, pooled, /*relu_at_end=*/false), first_});
    const Name refused = Floats("refused", {1}, {-std::numeric_limits<float>::infinity()});
    onnx_.AddOutput(onnx_.Add("Where", {"allowed", row, refused}), "logits", OnnxType::kFloat, {shape_.num_devices},
                    "of each device; -infinity where it is not allowed");
    return onnx_.Model(metadata);
  }

 private:
  void AddInputs() {
    onnx_.AddInput(
        "features", OnnxType::kFloat, {"n", shape_.num_features()},
        StrCat("of each group: cost over the largest of the graph; output bytes over the largest of the graph",
               shape_.memory_feature ? "; memory over the largest of the graph" : "",
               shape_.start_times ? "; when it starts in the simulated run of the placement, over the makespan" : "",
               "; its device, one-hot; 1 if it has been decided; 1 if it is the current one"));
    onnx_.AddInput("edges", OnnxType::kInt64, {"E", 2}, "parent and child");
    onnx_.AddInput("ancestors", OnnxType::kBool, {"n"}, "whether a path leads from the group to the current one");
    onnx_.AddInput("descendants", OnnxType::kBool, {"n"}, "whether a path leads from the current group to the group");
    onnx_.AddInput("allowed", OnnxType::kBool, {shape_.num_devices}, "devices that the current group may use");
  }

  // [1], both.
  Name Int(const Name& name, int64_t value) {
    const int64_t shape[] = {1};
    return onnx_.Constant(name, shape, std::span<const int64_t>(&value, 1));
  }
  Name Floats(const Name& name, const std::vector<int64_t>& shape, const std::vector<float>& values) {
    return onnx_.Constant(name, shape, std::span<const float>(values));
  }

  // [rows, columns], which are int64 [1].
  Name Zeros(const Name& rows, const Name& columns) {
    return onnx_.Add("Expand", {zero_, onnx_.Add("Concat", {rows, columns}, {{"axis", 0}})});
  }

  Name Mlp(const std::string& name, int layers, Name x, bool relu_at_end) {
    for (int i = 0; i < layers; ++i) {
      const std::string layer = StrCat(name, ".", i);
      x = onnx_.Add("Gemm", {x, StrCat(layer, ".weight"), StrCat(layer, ".bias")}, {{"transB", 1}});
      if (relu_at_end || i + 1 < layers) x = onnx_.Add("Relu", {x});
    }
    return x;
  }

  // [n, width] for each group the sum of the rows [E, width], one of each edge, of the edges that end in it;
  // zeros: [n, width]
  Name SumByEnd(const Name& ends, const Name& rows, const Name& zeros) {
    return onnx_.Add("ScatterND", {zeros, ends, rows}, {{"reduction", "add"}});
  }

  // [n, m] the embedding after the rounds of messages; they go along the edges from column `from` to column `to`.
  Name Messages(const Name& self, const std::string& direction, const Name& from, const Name& to) {
    const Name senders = onnx_.Add("Squeeze", {onnx_.Add("Gather", {"edges", from}, {{"axis", 1}}), second_});  // [E]
    const Name receivers = onnx_.Add("Gather", {"edges", to}, {{"axis", 1}});  // [E, 1]
    const Name ones = onnx_.Add("Expand", {one_, onnx_.Add("Shape", {receivers})});
    const Name hears = onnx_.Add("Greater", {SumByEnd(receivers, ones, zero_column_), zero_});  // [n, 1]
    Name x = self;
    for (int32_t round = 0; round < shape_.message_rounds; ++round) {
      const Name sent = onnx_.Add("Gather", {Mlp(direction + ".f", 2, x, true), senders});  // [E, m]
      const Name heard = Mlp(direction + ".g", 2, SumByEnd(receivers, sent, zero_messages_), true);
      x = onnx_.Add("Where", {hears, onnx_.Add("Add", {heard, self}), self});
    }
    return x;
  }

  // [1, n] of a boolean [n]
  Name Row(const Name& mask) {
    return onnx_.Add("Unsqueeze",
                     {onnx_.Add("Cast", {mask}, {{"to", static_cast<int64_t>(OnnxType::kFloat)}}), first_});
  }

  // [1, 2m]; members [1, n] 1 for the groups in the set
  Name Pool(const std::string& set, const Name& members, const Name& embedding) {
    if (!shape_.pooling) {
      const int64_t width = shape_.embedding_width();
      return Floats(set + ".pooled", {1, width}, std::vector<float>(static_cast<size_t>(width)));
    }
    return Mlp(set + ".G", 2, onnx_.Add("MatMul", {members, Mlp(set + ".F", 2, embedding, true)}), true);
  }

  const PlacetoShape shape_;
  OnnxWriter onnx_;
  Name first_;   // int64 [1]: 0
  Name second_;  // int64 [1]: 1
  Name zero_;    // float [1], as is the following
  Name one_;
  Name zero_column_;    // float [n, 1]
  Name zero_messages_;  // float [n, m]
};

}  // namespace

std::string PlacetoToOnnx(const PolicyWeights& weights) {
  std::map<std::string, std::string> metadata = weights.metadata;
  metadata["format"] = "emplace.policy/1";
  metadata["kind"] = weights.shape.kind;
  metadata["version"] = StrCat(weights.version);
  return PlacetoNetwork(weights).Model(metadata);
}

}  // namespace emplace
