#include "common/files/onnx_writer.h"

#include <bit>

#include "common/files/protobuf.h"
#include "common/strings.h"

namespace emplace {
namespace {

static_assert(std::endian::native == std::endian::little, "ONNX keeps numbers as little-endian bytes");

constexpr int64_t kIrVersion = 8;
constexpr int64_t kOpset = 17;

// ValueInfoProto {name = 1, type = 2, doc_string = 3}; TypeProto {tensor_type = 1}; Tensor {elem_type = 1, shape = 2};
// TensorShapeProto {dim = 1}; Dimension {dim_value = 1, dim_param = 2}
std::string ValueInfo(const std::string& name, OnnxType type, const std::vector<OnnxWriter::Dimension>& shape,
                      const std::string& about) {
  std::string dimensions;
  for (const OnnxWriter::Dimension& dimension : shape) {
    std::string encoded;
    if (const auto* size = std::get_if<int64_t>(&dimension)) AppendInt(1, *size, encoded);
    if (const auto* symbol = std::get_if<std::string>(&dimension)) AppendBytes(2, *symbol, encoded);
    AppendBytes(1, encoded, dimensions);
  }
  std::string tensor;
  AppendInt(1, static_cast<int64_t>(type), tensor);
  AppendBytes(2, dimensions, tensor);
  std::string type_proto;
  AppendBytes(1, tensor, type_proto);
  std::string value;
  AppendBytes(1, name, value);
  AppendBytes(2, type_proto, value);
  AppendBytes(3, about, value);
  return value;
}

// TensorProto {dims = 1, data_type = 2, name = 8, raw_data = 9}
template <typename T>
std::string Tensor(const std::string& name, OnnxType type, std::span<const int64_t> shape, std::span<const T> values) {
  std::string tensor;
  for (const int64_t size : shape) AppendInt(1, size, tensor);
  AppendInt(2, static_cast<int64_t>(type), tensor);
  AppendBytes(8, name, tensor);
  AppendBytes(9, {reinterpret_cast<const char*>(values.data()), values.size_bytes()}, tensor);
  return tensor;
}

}  // namespace

void OnnxWriter::AddInput(const std::string& name, OnnxType type, const std::vector<Dimension>& shape,
                          const std::string& about) {
  AppendBytes(11, ValueInfo(name, type, shape, about), inputs_);
}

void OnnxWriter::AddOutput(const std::string& from, const std::string& name, OnnxType type,
                           const std::vector<Dimension>& shape, const std::string& about) {
  AddNode("Identity", {from}, name, {});
  AppendBytes(12, ValueInfo(name, type, shape, about), outputs_);
}

std::string OnnxWriter::Constant(const std::string& name, std::span<const int64_t> shape,
                                 std::span<const float> values) {
  AppendBytes(5, Tensor(name, OnnxType::kFloat, shape, values), initializers_);
  return name;
}
std::string OnnxWriter::Constant(const std::string& name, std::span<const int64_t> shape,
                                 std::span<const int64_t> values) {
  AppendBytes(5, Tensor(name, OnnxType::kInt64, shape, values), initializers_);
  return name;
}

std::string OnnxWriter::Add(const std::string& op, const std::vector<std::string>& inputs,
                            const Attributes& attributes) {
  std::string output = StrCat(op, "/", next_++);
  AddNode(op, inputs, output, attributes);
  return output;
}

// NodeProto {input = 1, output = 2, name = 3, op_type = 4, attribute = 5};
// AttributeProto {name = 1, i = 3, s = 4, type = 20 (2 an integer, 3 a text)}
void OnnxWriter::AddNode(const std::string& op, const std::vector<std::string>& inputs, const std::string& output,
                         const Attributes& attributes) {
  std::string node;
  for (const std::string& input : inputs) AppendBytes(1, input, node);
  AppendBytes(2, output, node);
  AppendBytes(3, output, node);
  AppendBytes(4, op, node);
  for (const auto& [name, value] : attributes) {
    std::string attribute;
    AppendBytes(1, name, attribute);
    if (const auto* number = std::get_if<int64_t>(&value)) {
      AppendInt(3, *number, attribute);
      AppendInt(20, 2, attribute);
    } else {
      AppendBytes(4, std::get<std::string>(value), attribute);
      AppendInt(20, 3, attribute);
    }
    AppendBytes(5, attribute, node);
  }
  AppendBytes(1, node, nodes_);
}

// ModelProto {ir_version = 1, producer_name = 2, graph = 7, opset_import = 8, metadata_props = 14};
// GraphProto {node = 1, name = 2, initializer = 5, input = 11, output = 12}; OperatorSetIdProto {version = 2};
// StringStringEntryProto {key = 1, value = 2}
std::string OnnxWriter::Model(const std::map<std::string, std::string>& metadata) const {
  std::string graph = nodes_;
  AppendBytes(2, name_, graph);
  graph += initializers_ + inputs_ + outputs_;
  std::string opset;
  AppendInt(2, kOpset, opset);
  std::string model;
  AppendInt(1, kIrVersion, model);
  AppendBytes(2, "emplace", model);
  AppendBytes(7, graph, model);
  AppendBytes(8, opset, model);
  for (const auto& [key, value] : metadata) {
    std::string entry;
    AppendBytes(1, key, entry);
    AppendBytes(2, value, entry);
    AppendBytes(14, entry, model);
  }
  return model;
}

}  // namespace emplace
