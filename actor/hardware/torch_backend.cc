#include "actor/hardware/torch_backend.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "actor/hardware/given_tensors.h"
#include "actor/hardware/index_bounds.h"
#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

// A copy with the strides of the source, also where they leave gaps or repeat elements, and which begins at an equally
// aligned address: only so are the bits of what is computed from it certain to be those on the source's device.
at::Tensor CopyOnCpu(const at::Tensor& source) {
  constexpr uintptr_t kAlignment = 64;  // Bytes, of LibTorch's own allocations.
  const auto element = static_cast<int64_t>(source.element_size());
  int64_t extent = source.numel() > 0 ? 1 : 0;  // Elements from the first to the last.
  for (int64_t dim = 0; extent > 0 && dim < source.dim(); ++dim) extent += (source.size(dim) - 1) * source.stride(dim);
  const auto shift = static_cast<int64_t>(reinterpret_cast<uintptr_t>(source.const_data_ptr()) % kAlignment) / element;
  const at::Tensor memory = at::empty({shift + extent}, source.options());
  if (extent > 0) {
    std::memcpy(static_cast<char*>(memory.mutable_data_ptr()) + shift * element, source.const_data_ptr(),
                static_cast<size_t>(extent * element));
  }
  return memory.as_strided(source.sizes(), source.strides(), shift);
}

std::string Shown(const at::Tensor& tensor) {
  return StrCat(c10::toString(tensor.scalar_type()), " of shape ", tensor.sizes());
}

// The first line of an error of LibTorch, without its stack.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

TorchBackend::TorchBackend(const OpGraph& graph, const StepProgram& program, std::vector<LocalDevice> devices)
    : graph_(graph),
      program_(program),
      devices_(std::move(devices)),
      calls_(static_cast<size_t>(graph.num_ops())),
      checked_(static_cast<size_t>(graph.num_ops())),
      tensors_(program.values.size()) {
  // The calling thread restores parameters between steps. A thread pool for that would wait for more work afterwards by
  // spinning, milliseconds long, on the cores of the devices.
  at::set_num_threads(1);
  const c10::InferenceMode no_gradients;
  const std::vector<int64_t> bounds = IndexBounds(graph);
  for (size_t device = 0; device < program_.devices.size(); ++device) {
    for (const StepInstruction& instruction : program_.devices[device]) {
      Prepare(instruction, bounds);
    }
  }
  for (size_t device = 0; device < program_.devices.size(); ++device) {
    for (const StepInstruction& instruction : program_.devices[device]) {
      PrepareChanges(instruction, static_cast<DeviceIndex>(device));
    }
  }
}

void TorchBackend::Prepare(const StepInstruction& instruction, const std::vector<int64_t>& bounds) {
  const Op& op = graph_.op(instruction.op);
  if (!instruction.given) {
    for (size_t input = 0; input < op.inputs.size(); ++input) {
      if (instruction.inputs[input] != StepValue::kNone || op.inputs[input].output == OpInput::kControl) continue;
      throw BadInput(StrCat("op '", op.name, "': reads '", graph_.op(op.inputs[input].producer).name,
                            "', an update that is left to the optimizer and not run"));
    }
    calls_[static_cast<size_t>(instruction.op)] = std::make_unique<BoxedCall>(op, c10::DeviceType::CPU);
    return;
  }
  CheckGivenOp(op);
  const int32_t value = instruction.outputs.front();
  given_[instruction.op] = value;
  At(value) = MakeGivenTensor(op, bounds[static_cast<size_t>(instruction.op)]);
}

void TorchBackend::PrepareChanges(const StepInstruction& instruction, DeviceIndex device) {
  if (instruction.given) return;
  for (const size_t input : calls_[static_cast<size_t>(instruction.op)]->changed_inputs()) {
    const int32_t value = instruction.inputs[input];
    const OpIndex producer = graph_.op(instruction.op).inputs[input].producer;
    const auto given = given_.find(producer);
    if (given == given_.end() || given->second != value ||
        program_.values[static_cast<size_t>(value)].device != device) {
      throw BadInput(StrCat("op '", graph_.op(instruction.op).name, "': changes '", graph_.op(producer).name,
                            "' in place, expected a parameter on the op's own device"));
    }
    restored_.try_emplace(value, At(value).clone());
  }
}

void TorchBackend::PrepareThread(DeviceIndex device) {
  const LocalDevice& local = devices_[static_cast<size_t>(device)];
  if (!local.cores.empty()) BindThreadToCores(local.cores);
  // Gradients are ops of the graph: LibTorch records none. The guard is the thread's for as long as it lives.
  static thread_local std::optional<c10::InferenceMode> no_gradients;
  no_gradients.emplace();
  at::set_num_threads(static_cast<int>(std::max<size_t>(local.cores.size(), 1)));
  // Numbers that underflow would make ops many times slower, by what a step happens to compute.
  at::globalContext().setFlushDenormal(true);
}

void TorchBackend::Run(DeviceIndex, const StepInstruction& instruction) {
  const auto op = static_cast<size_t>(instruction.op);
  try {
    std::vector<at::Tensor> outputs =
        calls_[op]->Run([&](size_t input) -> const at::Tensor& { return At(instruction.inputs[input]); });
    if (checked_[op] == 0) {
      CheckOutputs(graph_.op(instruction.op), outputs);
      checked_[op] = 1;
    }
    for (size_t output = 0; output < instruction.outputs.size(); ++output) {
      if (instruction.outputs[output] != StepValue::kNone) At(instruction.outputs[output]) = std::move(outputs[output]);
    }
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw RunFailed(
        StrCat("op '", graph_.op(instruction.op).name, "' failed: ", FirstLine(error.what_without_backtrace())));
  } catch (const std::exception& error) {
    throw RunFailed(StrCat("op '", graph_.op(instruction.op).name, "' failed: ", FirstLine(error.what())));
  }
}

void TorchBackend::CheckOutputs(const Op& op, const std::vector<at::Tensor>& outputs) const {
  if (outputs.size() < op.outputs.size()) {
    throw BadInput(
        StrCat("op '", op.name, "': the call has ", outputs.size(), " outputs, the op has ", op.outputs.size()));
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const OpOutput& expected = op.outputs[i];
    if (!outputs[i].defined() || !expected.shape || expected.dtype.empty()) continue;
    const c10::ScalarType type = DtypeNamed(expected.dtype, "op '" + op.name + "'");
    if (outputs[i].scalar_type() == type && outputs[i].sizes() == c10::IntArrayRef(*expected.shape)) continue;
    throw BadInput(StrCat("op '", op.name, "': output ", i, " is ", Shown(outputs[i]), ", the graph says ",
                          c10::toString(type), " of shape ", c10::IntArrayRef(*expected.shape)));
  }
}

void TorchBackend::Copy(DeviceIndex, int32_t value) {
  const StepValue& about = program_.values[static_cast<size_t>(value)];
  const at::Tensor& source = At(about.source);
  if (source.defined()) At(value) = CopyOnCpu(source);
}

void TorchBackend::Free(int32_t value) { At(value).reset(); }

void TorchBackend::Finish(DeviceIndex) {}

void TorchBackend::PrepareStep() {
  const c10::InferenceMode no_gradients;
  for (size_t value = 0; value < tensors_.size(); ++value) {
    if (!given_.contains(program_.values[value].op)) tensors_[value].reset();
  }
  for (const auto& [value, tensor] : restored_) At(value).copy_(tensor);
}

const at::Tensor& TorchBackend::TensorOf(OpIndex op, int32_t output) const {
  for (size_t value = 0; value < tensors_.size(); ++value) {
    const StepValue& about = program_.values[value];
    if (about.op == op && about.output == output && about.stays) return tensors_[value];
  }
  throw BadInput(StrCat("op '", graph_.op(op).name, "': has no output ", output, " that outlives a step"));
}

void TorchBackend::Give(OpIndex op, const at::Tensor& tensor) {
  const c10::InferenceMode no_gradients;
  const int32_t value = given_.at(op);
  EMPLACE_CHECK(tensor.sizes() == At(value).sizes() && tensor.scalar_type() == At(value).scalar_type());
  At(value) = tensor.clone();
  const auto restored = restored_.find(value);
  if (restored != restored_.end()) restored->second = At(value).clone();
}

}  // namespace emplace
