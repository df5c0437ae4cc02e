// Everything that is known of an op type, in one table: output shape, FLOPs, bytes, and the rule that derives its
// gradient. A new family needs a row here for each op type that is not there yet, and no backward pass of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simulator/families/tensor_program.h"

namespace emplace {

inline constexpr char kParameterType[] = "emplace.parameter";
inline constexpr char kInputType[] = "emplace.input";

// One op of a program, as the rules see it. The output exists for all rules but output_shape.
struct OpCall {
  const TensorProgram& program;
  const SymbolicNode& node;

  const SymbolicTensor& input(size_t i) const { return program.tensor(node.inputs[i]); }
  const SymbolicTensor& output() const { return program.tensor(node.output); }
};

// What a backward rule works with: it adds ops to the program and hands in the gradient of each input.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  virtual const TensorProgram& program() const = 0;
  virtual const SymbolicNode& node() const = 0;  // Of the forward op.
  virtual TensorId output_grad() const = 0;      // Gradient of its output.
  virtual bool Needs(size_t input) const = 0;    // Does input i want a gradient?
  // Adds an op named after the forward op.
  virtual TensorId Emit(const std::string& suffix, const std::string& type, const std::vector<TensorId>& inputs,
                        const OpAttributes& attributes = {}) = 0;
  // Views: no op.
  virtual TensorId Slice(TensorId tensor, int32_t dim, int64_t begin, int64_t length, bool drop_dim = false) = 0;
  virtual void Give(size_t input, TensorId grad) = 0;
};

// What bounds the speed of an op; device kinds have an efficiency for each.
enum class OpClass {
  kResident,  // Parameters and inputs: nothing runs.
  kMatmul,
  kConvolution,
  kDepthwise,    // Convolutions whose channels do not mix.
  kElementwise,  // Streams through memory: activations, copies, updates.
  kReduction,    // Normalization, softmax, pools, sums.
  kGather,       // Rows at random places.
};
inline constexpr int kNumOpClasses = 7;

struct OpRule {
  std::string type;
  OpClass op_class;
  std::function<Shape(const OpCall&)> output_shape;
  std::function<double(const OpCall&)> flops;            // Multiply and add count as two.
  std::function<int64_t(const OpCall&)> bytes;           // Read and written.
  std::function<void(GradientSink&)> backward = {};      // Empty: no gradient passes through it.
  std::function<int64_t(const OpCall&)> workspace = {};  // Bytes while it runs; empty: none.
};

// Throws BadInput for a type that has no row.
const OpRule& RuleOf(const std::string& type);
// The class of the rule, but kDepthwise for a convolution that is one.
OpClass ClassOf(const OpCall& call);
std::vector<std::string> OpTypes();

}  // namespace emplace
