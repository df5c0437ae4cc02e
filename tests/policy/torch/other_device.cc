#include "tests/policy/torch/other_device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

namespace emplace {
namespace {

using at::Tensor;

// A kind of device that LibTorch knows and has nothing of. Unlike "private use 1" it gets no kernels that only GPUs
// have.
constexpr c10::DeviceType kType = c10::DeviceType::MAIA;
constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::MAIA);

std::atomic<int64_t> copies_to = 0;
std::atomic<int64_t> copies_from = 0;

// Turns the address of memory into one that no process can have, and back.
void* Hidden(const void* address) {
  constexpr uintptr_t kBit = uintptr_t{1} << 62;
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) ^ kBit);
}

class HiddenMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* const memory = bytes == 0 ? nullptr : std::malloc(bytes);
    return {memory == nullptr ? nullptr : Hidden(memory), memory, &std::free, OtherDevice()};
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(Hidden(to), Hidden(from), bytes);
  }
};

HiddenMemory& Memory() {
  static HiddenMemory memory;
  return memory;
}

// The tensor as one of the CPU, over the same memory.
Tensor AsOfCpu(const Tensor& tensor) {
  if (!tensor.defined() || tensor.is_cpu()) return tensor;
  const at::TensorOptions options = at::TensorOptions().dtype(tensor.dtype());
  if (tensor.numel() == 0) return at::empty(tensor.sizes(), options);
  return at::from_blob(Hidden(tensor.data_ptr()), tensor.sizes(), tensor.strides(), options);
}

Tensor EmptyHere(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> /*layout*/,
                 std::optional<at::Device> /*device*/, std::optional<bool> /*pinned*/,
                 std::optional<at::MemoryFormat> format) {
  return Tensor(at::detail::empty_generic(size, &Memory(), kKeys, at::dtype_or_default(dtype), format));
}

Tensor EmptyStridedHere(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                        std::optional<at::Layout> /*layout*/, std::optional<at::Device> /*device*/,
                        std::optional<bool> /*pinned*/) {
  return Tensor(at::detail::empty_strided_generic(size, stride, &Memory(), kKeys, at::dtype_or_default(dtype)));
}

Tensor CopyFrom(const Tensor& from, const Tensor& to, bool /*non_blocking*/) {
  if (from.is_cpu()) ++copies_to;
  if (to.is_cpu()) ++copies_from;
  AsOfCpu(to).copy_(AsOfCpu(from));
  return to;
}

Tensor OfDevice(const Tensor& computed) {
  if (!computed.defined()) return computed;
  Tensor here = EmptyStridedHere(computed.sizes(), computed.strides(), computed.scalar_type(), {}, {}, {});
  AsOfCpu(here).copy_(computed);
  return here;
}

// The value with all of its tensors replaced.
template <typename Replace>
c10::IValue WithTensors(const c10::IValue& value, const Replace& replace) {
  if (value.isTensor()) return replace(value.toTensor());
  if (value.isTensorList()) {
    std::vector<Tensor> tensors;
    for (const Tensor& tensor : value.toTensorVector()) tensors.push_back(replace(tensor));
    return c10::IValue(tensors);
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<Tensor>> tensors;
    for (const std::optional<Tensor>& tensor : value.toOptionalTensorVector()) {
      tensors.push_back(tensor ? std::optional(replace(*tensor)) : std::nullopt);
    }
    return c10::IValue(tensors);
  }
  return value;
}

// Every op that is not given below.
void ComputeByCpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const std::vector<c10::IValue> given(stack->end() - std::ssize(schema.arguments()), stack->end());
  for (auto value = stack->end() - std::ssize(given); value != stack->end(); ++value) {
    *value = WithTensors(*value, [&](const Tensor& tensor) {
      // Single numbers may be of the CPU on any device.
      TORCH_CHECK(!tensor.defined() || !tensor.is_cpu() || tensor.dim() == 0, schema.name(),
                  " has a tensor of the CPU beside those of another device");
      return AsOfCpu(tensor);
    });
  }
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  for (size_t i = 0; i < schema.returns().size(); ++i) {
    c10::IValue& value = torch::jit::peek(*stack, i, schema.returns().size());
    const c10::AliasInfo* const alias = schema.returns()[i].alias_info();
    if (alias == nullptr) {
      value = WithTensors(value, OfDevice);
      continue;
    }
    TORCH_CHECK(alias->isWrite(), schema.name(), " returns a view, which this device has no kernel for");
    for (size_t a = 0; a < given.size(); ++a) {
      const c10::AliasInfo* const other = schema.arguments()[a].alias_info();
      if (other == nullptr || !(*other == *alias)) continue;
      const Tensor& written = given[a].toTensor();
      // Some ops are given an empty tensor to grow.
      if (written.numel() == 0) {
        written.unsafeGetTensorImpl()->shallow_copy_from(OfDevice(value.toTensor()).getIntrusivePtr());
      }
      value = written;
    }
  }
}

TORCH_LIBRARY_IMPL(aten, MAIA, m) {
  m.impl("empty.memory_format", EmptyHere);
  m.impl("empty_strided", EmptyStridedHere);
  m.impl("_copy_from", CopyFrom);
  m.impl("as_strided", at::native::as_strided_tensorimpl);
  m.impl("view", at::native::view);
  m.impl("_reshape_alias", at::native::_reshape_alias);
}

TORCH_LIBRARY_IMPL(_, MAIA, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&ComputeByCpu>()); }

// There is one such device, and work on it is done when a call returns.
struct OneDevice final : public c10::impl::NoOpDeviceGuardImpl<kType> {
  c10::Device exchangeDevice(c10::Device /*device*/) const override { return OtherDevice(); }
  c10::Device getDevice() const override { return OtherDevice(); }
  c10::Stream getStream(c10::Device /*device*/) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, OtherDevice());
  }
  c10::Stream exchangeStream(c10::Stream /*stream*/) const noexcept override { return getStream(OtherDevice()); }
};

C10_REGISTER_GUARD_IMPL(MAIA, OneDevice)

}  // namespace

c10::Device OtherDevice() { return {kType, 0}; }
int64_t CopiesToOtherDevice() { return copies_to; }
int64_t CopiesFromOtherDevice() { return copies_from; }

}  // namespace emplace
