#include "actor/hardware/program/attention_checks.h"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <cstdint>

namespace emplace {
namespace {

void CheckFits(const char* name, const at::Tensor& tensor, c10::IntArrayRef expected) {
  TORCH_CHECK(tensor.defined() && tensor.sizes() == expected, name, " has the shape ", tensor.sizes(), ", expected ",
              expected, " by the shapes of query and key");
}

// The kernels take the numbers of a head to lie side by side.
void CheckHeads(const char* name, const at::Tensor& tensor) {
  TORCH_CHECK(tensor.size(3) < 2 || tensor.stride(3) == 1, name, " has a stride of ", tensor.stride(3),
              " in its last dimension, expected 1");
}

template <bool backward>
void Check(const torch::jit::Stack& arguments) {
  const size_t first = backward ? 1 : 0;  // Behind the gradient of what the forward op gives.
  const at::Tensor& query = arguments[first].toTensor();
  const at::Tensor& key = arguments[first + 1].toTensor();
  TORCH_CHECK(query.dim() == 4 && key.dim() == 4, "query and key have ", query.dim(), " and ", key.dim(),
              " dimensions, expected 4");
  const int64_t batch = query.size(0);
  const int64_t heads = query.size(1);
  const int64_t rows = query.size(2);
  const int64_t width = query.size(3);
  const int64_t key_heads = key.size(1);
  const int64_t keys = key.size(2);
  const bool fits = backward ? key_heads == heads : key_heads > 0 && heads % key_heads == 0;
  TORCH_CHECK(fits, "key has ", key_heads, " heads, query has ", heads);
  CheckFits("key", key, {batch, key_heads, keys, width});
  CheckFits("value", arguments[first + 2].toTensor(), {batch, key_heads, keys, width});
  CheckHeads("query", query);
  CheckHeads("key", key);
  CheckHeads("value", arguments[first + 2].toTensor());
  if (backward) {
    CheckFits("grad_out", arguments[0].toTensor(), {batch, heads, rows, width});
    CheckFits("out", arguments[4].toTensor(), {batch, heads, rows, width});
    CheckHeads("out", arguments[4].toTensor());
    CheckFits("logsumexp", arguments[5].toTensor(), {batch, heads, rows});
  }
  const c10::IValue& mask = arguments[backward ? 8 : 5];
  if (!mask.isTensor() || !mask.toTensor().defined()) return;
  const c10::IntArrayRef sizes = mask.toTensor().sizes();
  const int64_t most[] = {batch, heads, rows, keys};
  TORCH_CHECK(sizes.size() == 2 || sizes.size() == 4, "attn_mask has ", sizes.size(), " dimensions, expected 2 or 4");
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t expected = most[4 - sizes.size() + i];
    TORCH_CHECK(sizes[i] == 1 || sizes[i] == expected, "attn_mask has the shape ", sizes, ", expected ", expected,
                " or 1 in dimension ", i);
  }
}

}  // namespace

void CheckFlashAttention(const torch::jit::Stack& arguments) { Check<false>(arguments); }
void CheckFlashAttentionBackward(const torch::jit::Stack& arguments) { Check<true>(arguments); }

}  // namespace emplace
