// The table of op types. A row has the type's output shape, FLOPs, bytes, and the rule for its gradient. A new family
// needs a row for each op type that the table lacks, and no backward pass of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulator/families/program/tensor_program.h"

namespace emplace {

inline constexpr char kParameterType[] = "emplace.parameter";
inline constexpr char kInputType[] = "emplace.input";

// An op of a program, as the rules see it. The output exists for all rules except output_shape.
struct OpCall {
  const TensorProgram& program;
  const SymbolicNode& node;

  const SymbolicTensor& input(size_t i) const { return program.tensor(node.inputs[i]); }
  const SymbolicTensor& output() const { return program.tensor(node.output); }
};

// The interface for backward rules. A rule adds ops to the program and gives the gradient of each input.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  virtual const TensorProgram& program() const = 0;
  virtual const SymbolicNode& node() const = 0;  // The forward op.
  virtual TensorId output_grad() const = 0;      // Gradient of the forward op's output.
  virtual bool Needs(size_t input) const = 0;    // Whether the input needs a gradient.
  // Adds an op named after the forward op.
  virtual TensorId Emit(const std::string& suffix, const std::string& type, const std::vector<TensorId>& inputs,
                        const OpAttributes& attributes = {}) = 0;
  // Makes a view, which is no op.
  virtual TensorId Slice(TensorId tensor, int32_t dim, int64_t begin, int64_t length, bool drop_dim = false) = 0;
  virtual void Give(size_t input, TensorId grad) = 0;
};

// Classes of ops by what limits their speed. A device kind has an efficiency for each class.
enum class OpClass {
  kResident,  // Parameters and inputs, which compute nothing.
  kMatmul,
  kConvolution,
  kDepthwise,    // Convolutions whose channels do not mix.
  kElementwise,  // Ops that stream through memory: activations, copies, updates.
  kReduction,    // Normalization, softmax, pools and sums.
  kGather,       // Reads of rows at random places.
};
inline constexpr int kNumOpClasses = 7;

struct OpRule {
  std::string type;
  OpClass op_class;
  std::function<Shape(const OpCall&)> output_shape;
  std::function<double(const OpCall&)> flops;            // A multiply-add counts as two.
  std::function<int64_t(const OpCall&)> bytes;           // Bytes read and written.
  std::function<void(GradientSink&)> backward = {};      // Empty: no gradient passes through the op.
  std::function<int64_t(const OpCall&)> workspace = {};  // Temporary bytes while the op runs; empty: none.
  // Shapes and types of what ATen's operator returns after the output and other ops read; ops have them in programs
  // that can be run. Empty: none.
  std::function<std::vector<SymbolicTensor>(const OpCall&)> further_outputs = {};
  std::optional<ElementType> output_type = {};  // nullopt: the program's type of floating-point numbers.
};

// Throws BadInput for a type that has no row.
const OpRule& RuleOf(const std::string& type);
// The class of the op's rule, or kDepthwise for a depthwise convolution.
OpClass ClassOf(const OpCall& call);
std::vector<std::string> OpTypes();

}  // namespace emplace
