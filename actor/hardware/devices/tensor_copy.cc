#include "actor/hardware/devices/tensor_copy.h"

#include <ATen/ops/empty.h>

#include <cstdint>
#include <cstring>

namespace emplace {
namespace {

// Elements from the first to the last in memory.
int64_t ExtentOf(const at::Tensor& tensor) {
  int64_t extent = tensor.numel() > 0 ? 1 : 0;
  for (int64_t dim = 0; extent > 0 && dim < tensor.dim(); ++dim) extent += (tensor.size(dim) - 1) * tensor.stride(dim);
  return extent;
}

// Memory for a copy of the tensor. target: the device, and whether the memory is pinned; the type is the source's.
at::Tensor EmptyForCopy(const at::Tensor& source, const c10::TensorOptions& target) {
  // Bytes, of LibTorch's own allocations.
  const uintptr_t alignment = target.device().is_cpu() ? 64 : 512;
  const auto shift = static_cast<int64_t>(reinterpret_cast<uintptr_t>(source.const_data_ptr()) % alignment) /
                     static_cast<int64_t>(source.element_size());
  const at::Tensor memory = at::empty({shift + ExtentOf(source)}, target.dtype(source.dtype()));
  return memory.as_strided(source.sizes(), source.strides(), shift);
}

at::Tensor Flat(const at::Tensor& tensor) { return tensor.as_strided({ExtentOf(tensor)}, {1}); }

}  // namespace

at::Tensor CopyOnCpu(const at::Tensor& source, bool pinned) {
  at::Tensor copy = EmptyForCopy(source, source.options().pinned_memory(pinned));
  const auto bytes = static_cast<size_t>(ExtentOf(source) * static_cast<int64_t>(source.element_size()));
  if (bytes > 0) std::memcpy(copy.mutable_data_ptr(), source.const_data_ptr(), bytes);
  // Whether the numbers in memory stand for their conjugates, or for those with the other sign.
  copy._set_conj(source.is_conj());
  copy._set_neg(source.is_neg());
  return copy;
}

at::Tensor CopyBesideThread(const at::Tensor& source, const c10::TensorOptions& target) {
  at::Tensor copy = EmptyForCopy(source, target);
  Flat(copy).copy_(Flat(source), /*non_blocking=*/true);
  return copy;
}

}  // namespace emplace
