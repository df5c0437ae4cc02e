// Writes ONNX models (onnx.ai/onnx/repo-docs/IR.html) of the kind that small networks need: floats, 64-bit integers and
// booleans, operators of the standard domain, and attributes that are one integer or one text.
//
//   OnnxWriter onnx("double");
//   onnx.AddInput("x", OnnxType::kFloat, {"n", 3}, "what is doubled");
//   onnx.AddOutput(onnx.Add("Add", {"x", "x"}), "y", OnnxType::kFloat, {"n", 3}, "the double");
//   WriteFileAtomically("double.onnx", onnx.Model({}));
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace emplace {

enum class OnnxType : uint8_t { kFloat = 1, kInt64 = 7, kBool = 9 };  // The values are ONNX's.

// Not thread-safe. Names are the caller's to keep unique: inputs, outputs and constants share one space of names with
// those that Add makes, which are "operator/number".
class OnnxWriter {
 public:
  // A size, or the name of one that is known when the model runs.
  using Dimension = std::variant<int64_t, std::string>;
  using Attributes = std::vector<std::pair<std::string, std::variant<int64_t, std::string>>>;

  explicit OnnxWriter(std::string name) : name_(std::move(name)) {}

  // `about` says in the model what the tensor holds.
  void AddInput(const std::string& name, OnnxType type, const std::vector<Dimension>& shape, const std::string& about);
  // The tensor `from` is an output of the model, under the name `name`.
  void AddOutput(const std::string& from, const std::string& name, OnnxType type, const std::vector<Dimension>& shape,
                 const std::string& about);
  // Both return `name`. REQUIRES: as many values as the shape has elements.
  std::string Constant(const std::string& name, std::span<const int64_t> shape, std::span<const float> values);
  std::string Constant(const std::string& name, std::span<const int64_t> shape, std::span<const int64_t> values);
  // Returns the name of the operator's only output.
  std::string Add(const std::string& op, const std::vector<std::string>& inputs, const Attributes& attributes = {});

  // The bytes of the file. Tools show the metadata beside the model.
  std::string Model(const std::map<std::string, std::string>& metadata) const;

 private:
  void AddNode(const std::string& op, const std::vector<std::string>& inputs, const std::string& output,
               const Attributes& attributes);

  std::string name_;
  int next_ = 0;
  std::string nodes_;         // Fields of the message GraphProto, encoded, as are the following.
  std::string initializers_;  // The constants.
  std::string inputs_;
  std::string outputs_;
};

}  // namespace emplace
