#include "actor/hardware/devices/torch_backend.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "actor/hardware/devices/tensor_copy.h"
#include "actor/hardware/program/call_constants.h"
#include "actor/hardware/program/given_tensors.h"
#include "actor/hardware/program/index_bounds.h"
#include "actor/hardware/program/index_sources.h"
#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

std::string Shown(const at::Tensor& tensor) {
  return StrCat(c10::toString(tensor.scalar_type()), " of shape ", tensor.sizes());
}

// Does the work; an error of LibTorch becomes one line that begins with what `subject` returns.
template <typename Subject, typename Work>
void InOneLine(const Subject& subject, const Work& work) {
  try {
    work();
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw RunFailed(StrCat(subject(), " failed: ", FirstLine(error.what_without_backtrace())));
  } catch (const std::exception& error) {
    throw RunFailed(StrCat(subject(), " failed: ", FirstLine(error.what())));
  }
}

}  // namespace

TorchBackend::TorchBackend(const OpGraph& graph, const StepProgram& program, std::vector<LocalDevice> devices,
                           bool gpu_times)
    : graph_(graph),
      program_(program),
      devices_(std::move(devices)),
      memory_(devices_),
      calls_(static_cast<size_t>(graph.num_ops())),
      checked_(static_cast<size_t>(graph.num_ops())),
      tensors_(program.values.size()) {
  // The calling thread restores parameters between steps. A thread pool for that would wait for more work afterwards by
  // spinning, milliseconds long, on the cores of the devices.
  at::set_num_threads(1);
  const c10::InferenceMode no_gradients;
  CheckIndexSources(graph);
  const std::vector<int64_t> bounds = IndexBounds(graph);
  for (size_t device = 0; device < program_.devices.size(); ++device) {
    for (const StepInstruction& instruction : program_.devices[device]) {
      Prepare(instruction, static_cast<DeviceIndex>(device), bounds);
    }
  }
  for (size_t device = 0; device < program_.devices.size(); ++device) {
    for (const StepInstruction& instruction : program_.devices[device]) {
      PrepareChanges(instruction, static_cast<DeviceIndex>(device));
    }
  }
  std::vector<char> has_streams;
  for (const LocalDevice& device : devices_) has_streams.push_back(device.is_gpu() ? 1 : 0);
  if (std::ranges::find(has_streams, 1) != has_streams.end()) {
    gpus_ = std::make_unique<Gpus>(*this, has_streams, gpu_times);
  }
}

TorchBackend::Gpus::Gpus(const TorchBackend& backend, const std::vector<char>& has_streams, bool timed)
    : streams(StreamOrder::StreamsOf(backend.program_, has_streams),
              StreamOrder::NumMarks(backend.program_, backend.graph_.num_ops()), timed, backend.devices_,
              backend.tensors_),
      order(backend.program_, backend.graph_.num_ops(), has_streams, timed, streams) {}

void TorchBackend::Prepare(const StepInstruction& instruction, DeviceIndex device, const std::vector<int64_t>& bounds) {
  const c10::Device torch_device = TorchDevice(devices_[static_cast<size_t>(device)]);
  const Op& op = graph_.op(instruction.op);
  if (!instruction.given) {
    for (size_t input = 0; input < op.inputs.size(); ++input) {
      if (instruction.inputs[input] != StepValue::kNone || op.inputs[input].output == OpInput::kControl) continue;
      throw BadInput(StrCat("op '", op.name, "': reads '", graph_.op(op.inputs[input].producer).name,
                            "', an update that is left to the optimizer and not run"));
    }
    calls_[static_cast<size_t>(instruction.op)] = std::make_unique<BoxedCall>(op, torch_device);
    return;
  }
  CheckGivenOp(op);
  const int32_t value = instruction.outputs.front();
  given_[instruction.op] = value;
  const auto subject = [&] { return StrCat("making the tensor of op '", op.name, "'"); };
  InOneLine(subject, [&] {
    const at::Tensor made = MakeGivenTensor(op, bounds[static_cast<size_t>(instruction.op)]);
    memory_.CountThreadFor(device);
    At(value) = made.to(torch_device, /*non_blocking=*/false, /*copy=*/true);
    memory_.CountThreadFor(std::nullopt);
  });
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
  if (local.is_gpu()) {
    gpus_->streams.EnterThread(device);
    return;
  }
  at::set_num_threads(static_cast<int>(std::max<size_t>(local.cores.size(), 1)));
  // Numbers that underflow would make ops many times slower, by what a step happens to compute.
  at::globalContext().setFlushDenormal(true);
}

void TorchBackend::BeginStep(DeviceIndex device) {
  memory_.CountThreadFor(counts_memory_ ? std::optional(device) : std::nullopt);
  if (IsGpu(device)) InOneLine([] { return "the GPU's clock"; }, [&] { gpus_->order.BeginStep(device); });
}

void TorchBackend::Run(DeviceIndex device, const StepInstruction& instruction) {
  const auto subject = [&] { return StrCat("op '", graph_.op(instruction.op).name, "'"); };
  InOneLine(subject, [&] {
    if (!IsGpu(device)) {
      RunCall(instruction);
      return;
    }
    gpus_->order.BeginOp(device, instruction);
    RunCall(instruction);
    gpus_->order.EndOp(device, instruction);
  });
}

void TorchBackend::RunCall(const StepInstruction& instruction) {
  const auto op = static_cast<size_t>(instruction.op);
  std::vector<at::Tensor> outputs =
      calls_[op]->Run([&](size_t input) -> const at::Tensor& { return At(instruction.inputs[input]); });
  if (checked_[op] == 0) {
    CheckOutputs(graph_.op(instruction.op), outputs);
    checked_[op] = 1;
  }
  for (size_t output = 0; output < instruction.outputs.size(); ++output) {
    if (instruction.outputs[output] != StepValue::kNone) At(instruction.outputs[output]) = std::move(outputs[output]);
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

void TorchBackend::Post(DeviceIndex device, int32_t value) {
  if (IsGpu(device) && About(value).source != StepValue::kNone) CopyByStream(value);
}

void TorchBackend::Copy(DeviceIndex device, int32_t value) {
  if (IsGpu(About(About(value).source).device)) return;  // Post has begun to.
  if (IsGpu(device)) {
    CopyByStream(value);
    return;
  }
  const at::Tensor& source = At(About(value).source);
  if (source.defined()) At(value) = CopyOnCpu(source);
}

void TorchBackend::CopyByStream(int32_t value) {
  const auto subject = [&] { return StrCat("copying the output of op '", graph_.op(About(value).op).name, "'"); };
  InOneLine(subject, [&] {
    gpus_->order.BeginCopy(value);
    At(value) = gpus_->streams.Copy(At(About(value).source), gpus_->order.LinkOf(value));
    gpus_->order.EndCopy(value);
  });
}

void TorchBackend::Await(DeviceIndex device, int32_t value) {
  if (gpus_ == nullptr) return;
  const auto subject = [&] { return StrCat("waiting for op '", graph_.op(About(value).op).name, "'"); };
  InOneLine(subject, [&] { gpus_->order.Await(device, value); });
}

void TorchBackend::Free(int32_t value) { At(value).reset(); }

void TorchBackend::Finish(DeviceIndex device) {
  if (IsGpu(device)) InOneLine([] { return "an op on a GPU"; }, [&] { gpus_->order.Finish(device); });
}

void TorchBackend::AddTimes(std::chrono::steady_clock::time_point start, StepTimes& times) {
  if (gpus_ != nullptr) gpus_->order.AddTimes(start, times);
}

void TorchBackend::GiveUpResults() {
  for (size_t value = 0; value < tensors_.size(); ++value) {
    if (!given_.contains(program_.values[value].op)) tensors_[value].reset();
  }
}

void TorchBackend::CountMemory(bool count) {
  GiveUpResults();
  if (count) memory_.ResetPeaks();
  counts_memory_ = count;
}

void TorchBackend::PrepareStep() {
  const c10::InferenceMode no_gradients;
  GiveUpResults();
  for (const auto& [value, tensor] : restored_) At(value).copy_(tensor);
  // What is given was made on streams of this thread.
  if (gpus_ != nullptr) gpus_->streams.DrainGpus();
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
  At(value) = tensor.to(At(value).device(), /*non_blocking=*/false, /*copy=*/true);
  const auto restored = restored_.find(value);
  if (restored != restored_.end()) restored->second = At(value).clone();
}

}  // namespace emplace
