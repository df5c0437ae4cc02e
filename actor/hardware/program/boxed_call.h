// A call of an ATen operator, prepared once: the operator is looked up, and its arguments lie in order on a stack in
// which only the tensors are missing.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <functional>
#include <string>
#include <vector>

#include "actor/hardware/program/argument_checks.h"
#include "actor/hardware/program/aten_call.h"

namespace emplace {

// Immutable once made; any thread may run one.
class BoxedCall {
 public:
  // device: where the op runs; operators that make tensors from numbers alone make them there. Throws BadInput
  // "op 'x': call: ..." for an operator that this LibTorch does not have, or not for the device, and for arguments that
  // the operator does not take.
  BoxedCall(const Op& op, c10::Device device);

  // The tensor of an input of the op, by its index.
  using Inputs = std::function<const at::Tensor&(size_t input)>;
  // Returns the operator's outputs; those of an operator that returns a list are the list's. Throws c10::Error.
  std::vector<at::Tensor> Run(const Inputs& inputs) const;

  // The inputs of the op that the operator changes in place, ascending.
  const std::vector<size_t>& changed_inputs() const { return changed_inputs_; }

 private:
  struct View {
    c10::OperatorHandle op;
    torch::jit::Stack args;  // After the tensor.
  };
  struct Tensor {
    static constexpr size_t kNone = static_cast<size_t>(-1);
    size_t input = kNone;  // kNone: no tensor, in a list of optional ones.
    std::vector<View> views;

    at::Tensor From(const Inputs& inputs) const;
  };
  // An argument that is made of tensors.
  struct Slot {
    size_t position = 0;  // On the stack.
    enum class Kind : uint8_t { kTensor, kList, kListOfOptional } kind = Kind::kTensor;
    std::vector<Tensor> tensors;
  };
  class Builder;

  c10::OperatorHandle op_;
  ArgumentCheck check_ = nullptr;  // Before each call; nullptr: the operator checks itself.
  torch::jit::Stack arguments_;    // With None in place of what the slots fill in.
  std::vector<Slot> slots_;
  std::vector<size_t> changed_inputs_;
};

}  // namespace emplace
