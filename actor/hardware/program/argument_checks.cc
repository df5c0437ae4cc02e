#include "actor/hardware/program/argument_checks.h"

#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/util/Exception.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <unordered_map>
#include <vector>

#include "actor/hardware/program/attention_checks.h"

namespace emplace {
namespace {

using torch::jit::Stack;
using Shape = std::vector<int64_t>;

bool IsGiven(const c10::IValue& argument) { return argument.isTensor() && argument.toTensor().defined(); }

const at::Tensor& TensorOf(const char* name, const c10::IValue& argument) {
  TORCH_CHECK(IsGiven(argument), name, " is missing");
  return argument.toTensor();
}

void CheckShape(const char* name, const at::Tensor& tensor, c10::IntArrayRef expected) {
  TORCH_CHECK(tensor.sizes() == expected, name, " has the shape ", tensor.sizes(), ", expected ", expected);
}

// For kernels that count on the numbers to lie one behind the other.
void CheckNumbers(const char* name, const at::Tensor& tensor, int64_t expected) {
  TORCH_CHECK(tensor.numel() == expected && tensor.is_contiguous(), name, " has the shape ", tensor.sizes(),
              " and the strides ", tensor.strides(), ", expected ", expected, " numbers one behind the other");
}

int64_t Product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    TORCH_CHECK(factor >= 0 && !__builtin_mul_overflow(product, factor, &product), "a size is ", factor,
                ", expected at least 0 and a product below 2^63");
  }
  return product;
}

// For backward operators of pooling and padding, whose first arguments are grad_output and self: the gradient has the
// sizes of self, but for the last ones.
void CheckGradient(const Stack& arguments, c10::IntArrayRef last) {
  const c10::IntArrayRef self = TensorOf("self", arguments[1]).sizes();
  TORCH_CHECK(self.size() > last.size(), "self has ", self.size(), " dimensions, expected more than ", last.size());
  Shape expected(self.begin(), self.end());
  std::copy(last.begin(), last.end(), expected.end() - static_cast<std::ptrdiff_t>(last.size()));
  CheckShape("grad_output", TensorOf("grad_output", arguments[0]), expected);
}

template <size_t free_dims>
void CheckSameButLast(const Stack& arguments) {
  const c10::IntArrayRef grad = TensorOf("grad_output", arguments[0]).sizes();
  TORCH_CHECK(grad.size() > free_dims, "grad_output has ", grad.size(), " dimensions, expected more than ", free_dims);
  CheckGradient(arguments, grad.slice(grad.size() - free_dims));
}

template <size_t dims>
void CheckPadBackward(const Stack& arguments) {
  const c10::IntArrayRef self = TensorOf("self", arguments[1]).sizes();
  const Shape padding = arguments[2].toIntVector();
  TORCH_CHECK(padding.size() == 2 * dims, "padding has ", padding.size(), " numbers, expected ", 2 * dims);
  TORCH_CHECK(self.size() == dims + 1 || self.size() == dims + 2, "self has ", self.size(), " dimensions, expected ",
              dims + 1, " or ", dims + 2);
  Shape last(self.end() - static_cast<std::ptrdiff_t>(dims), self.end());
  for (size_t i = 0; i < dims; ++i) {
    int64_t& size = last[dims - 1 - i];
    const bool too_large =
        __builtin_add_overflow(size, padding[2 * i], &size) || __builtin_add_overflow(size, padding[2 * i + 1], &size);
    TORCH_CHECK(!too_large, "padding is ", padding, ", expected less");
  }
  CheckGradient(arguments, last);
}

template <size_t dims>
void CheckFractionalPoolBackward(const Stack& arguments) {
  const Shape output = arguments[3].toIntVector();
  TORCH_CHECK(arguments[2].toIntVector().size() == dims && output.size() == dims, "kernel_size and output_size have ",
              arguments[2].toIntVector().size(), " and ", output.size(), " numbers, expected ", dims);
  CheckGradient(arguments, output);
  CheckShape("indices", TensorOf("indices", arguments[4]), arguments[0].toTensor().sizes());
}

// One number for each channel of the input, where the argument is given.
void CheckChannels(const Stack& arguments, const at::Tensor& input, std::initializer_list<size_t> of_channels) {
  TORCH_CHECK(input.dim() >= 2, "input has ", input.dim(), " dimensions, expected at least 2");
  for (const size_t position : of_channels) {
    if (IsGiven(arguments[position]))
      CheckNumbers("a tensor by channel", arguments[position].toTensor(), input.size(1));
  }
}

void CheckBatchNorm(const Stack& arguments) {
  CheckChannels(arguments, TensorOf("input", arguments[0]), {1, 2, 3, 4});
  TensorOf("running_mean", arguments[3]);
  TensorOf("running_var", arguments[4]);
}

void CheckBatchNormWithoutStatistics(const Stack& arguments) {
  CheckChannels(arguments, TensorOf("input", arguments[0]), {1, 2});
  TORCH_CHECK(arguments[3].toBool(), "training is False, expected True where there are no running statistics");
}

void CheckBatchNormBackward(const Stack& arguments) {
  const at::Tensor& input = TensorOf("input", arguments[1]);
  CheckShape("grad_out", TensorOf("grad_out", arguments[0]), input.sizes());
  CheckChannels(arguments, input, {2, 3, 4});
  const size_t first = arguments[7].toBool() ? 5 : 3;  // Statistics of the batch, or else the running ones.
  for (const size_t position : {first, first + 1})
    CheckNumbers("a statistic", TensorOf("a statistic", arguments[position]), input.size(1));
}

// first: the position of N, which C, HxW and group follow.
void CheckGroups(const Stack& arguments, const at::Tensor& input, size_t first) {
  const int64_t channels = arguments[first + 1].toInt();
  const int64_t groups = arguments[first + 3].toInt();
  TORCH_CHECK(groups > 0 && channels % groups == 0, "group is ", groups, ", expected a divisor of ", channels);
  const int64_t expected = Product({arguments[first].toInt(), channels, arguments[first + 2].toInt()});
  TORCH_CHECK(input.numel() == expected, "input has ", input.numel(), " numbers, expected ", expected);
}

void CheckGroupNorm(const Stack& arguments) {
  CheckGroups(arguments, TensorOf("input", arguments[0]), 3);
  for (const size_t position : {size_t{1}, size_t{2}}) {
    if (IsGiven(arguments[position])) CheckNumbers("weight", arguments[position].toTensor(), arguments[4].toInt());
  }
}

void CheckGroupNormBackward(const Stack& arguments) {
  const at::Tensor& input = TensorOf("input", arguments[1]);
  CheckGroups(arguments, input, 5);
  CheckShape("grad_out", TensorOf("grad_out", arguments[0]), input.sizes());
  const int64_t groups = Product({arguments[5].toInt(), arguments[8].toInt()});
  CheckNumbers("mean", TensorOf("mean", arguments[2]), groups);
  CheckNumbers("rstd", TensorOf("rstd", arguments[3]), groups);
  if (IsGiven(arguments[4])) CheckNumbers("weight", arguments[4].toTensor(), arguments[6].toInt());
}

// of_rows: statistics with a number for each row that is normalized.
void CheckRowsBackward(const Stack& arguments, std::initializer_list<size_t> of_rows) {
  const at::Tensor& input = TensorOf("input", arguments[1]);
  CheckShape("grad_out", TensorOf("grad_out", arguments[0]), input.sizes());
  const auto normalized = static_cast<int64_t>(arguments[2].toIntVector().size());
  TORCH_CHECK(normalized <= input.dim(), "normalized_shape has ", normalized, " dimensions, expected at most ",
              input.dim());
  const int64_t rows = c10::multiply_integers(input.sizes().slice(0, static_cast<size_t>(input.dim() - normalized)));
  for (const size_t position : of_rows) CheckNumbers("a statistic", TensorOf("a statistic", arguments[position]), rows);
}
void CheckLayerNormBackward(const Stack& arguments) { CheckRowsBackward(arguments, {3, 4}); }
void CheckRmsNormBackward(const Stack& arguments) { CheckRowsBackward(arguments, {3}); }

void CheckSoftmaxBackward(const Stack& arguments) {
  CheckShape("output", TensorOf("output", arguments[1]), TensorOf("grad_output", arguments[0]).sizes());
}

// dims: such as 2 for images. The gradient has the input's batch and channels, and the grid's places.
template <int64_t dims>
void CheckGridSamplerBackward(const Stack& arguments) {
  const at::Tensor& input = TensorOf("input", arguments[1]);
  const at::Tensor& grid = TensorOf("grid", arguments[2]);
  TORCH_CHECK(input.dim() == dims + 2 && grid.dim() == dims + 2, "input and grid have ", input.dim(), " and ",
              grid.dim(), " dimensions, expected ", dims + 2);
  Shape expected = {input.size(0), input.size(1)};
  for (int64_t dim = 1; dim <= dims; ++dim) expected.push_back(grid.size(dim));
  CheckShape("grad_output", TensorOf("grad_output", arguments[0]), expected);
}

void CheckDistancesBackward(const Stack& arguments) {
  const at::Tensor& grad = TensorOf("grad", arguments[0]);
  const at::Tensor& x1 = TensorOf("x1", arguments[1]);
  const at::Tensor& x2 = TensorOf("x2", arguments[2]);
  TORCH_CHECK(x1.dim() >= 2 && x2.dim() >= 2 && x1.size(-1) == x2.size(-1), "x1 and x2 have the shapes ", x1.sizes(),
              " and ", x2.sizes(), ", expected vectors of one length");
  Shape expected = at::infer_size(x1.sizes().slice(0, static_cast<size_t>(x1.dim()) - 2),
                                  x2.sizes().slice(0, static_cast<size_t>(x2.dim()) - 2));
  expected.push_back(x1.size(-2));
  expected.push_back(x2.size(-2));
  CheckShape("grad", grad, expected);
  CheckShape("cdist", TensorOf("cdist", arguments[4]), expected);
}

void CheckPairsBackward(const Stack& arguments) {
  const at::Tensor& self = TensorOf("self", arguments[1]);
  TORCH_CHECK(self.dim() == 2, "self has ", self.dim(), " dimensions, expected 2");
  const int64_t pairs = Product({self.size(0), std::max<int64_t>(0, self.size(0) - 1)}) / 2;
  CheckShape("grad", TensorOf("grad", arguments[0]), {pairs});
  CheckShape("pdist", TensorOf("pdist", arguments[3]), {pairs});
}

void CheckUnfoldBackward(const Stack& arguments) {
  const at::Tensor& grad = TensorOf("grad_in", arguments[0]);
  Shape expected = arguments[1].toIntVector();
  const auto dims = static_cast<int64_t>(expected.size());
  int64_t dim = arguments[2].toInt();
  if (dim < 0) dim += dims;
  const int64_t size = arguments[3].toInt();
  const int64_t step = arguments[4].toInt();
  TORCH_CHECK(dim >= 0 && dim < dims && step > 0, "dim is ", dim, " and step ", step, ", expected a dimension of ",
              expected, " and a step above 0");
  int64_t& along = expected[static_cast<size_t>(dim)];
  TORCH_CHECK(size >= 0 && size <= along, "size is ", size, ", expected at most ", along);
  along = (along - size) / step + 1;
  expected.push_back(size);
  CheckShape("grad_in", grad, expected);
}

void CheckFourier(const Stack& arguments) {
  const int64_t dims = TensorOf("self", arguments[0]).dim();
  std::vector<bool> seen(static_cast<size_t>(dims));
  const Shape along = arguments[1].toIntVector();
  TORCH_CHECK(!along.empty(), "dim is empty, expected at least one dimension");
  for (const int64_t dim : along) {
    TORCH_CHECK(dim >= 0 && dim < dims && !seen[static_cast<size_t>(dim)], "dim is ", along,
                ", expected different dimensions from 0 to ", dims - 1);
    seen[static_cast<size_t>(dim)] = true;
  }
}

void CheckFourierToReal(const Stack& arguments) {
  CheckFourier(arguments);
  const int64_t expected = arguments[3].toInt() / 2 + 1;
  const int64_t size = arguments[0].toTensor().size(arguments[1].toIntVector().back());
  TORCH_CHECK(size == expected, "self has ", size, " numbers in the last of dim, expected ", expected);
}

// The numbers of a tensor on a CPU; those of a GPU are checked by its kernels.
Shape WholeNumbers(const at::Tensor& tensor) {
  const at::Tensor numbers = tensor.to(at::kLong).contiguous();
  return {numbers.const_data_ptr<int64_t>(), numbers.const_data_ptr<int64_t>() + numbers.numel()};
}

// The kernel looks at the classes where it sums the losses up.
void CheckClasses(const Stack& arguments) {
  const at::Tensor& self = TensorOf("self", arguments[1]);
  const at::Tensor& target = TensorOf("target", arguments[2]);
  constexpr int64_t kNoReduction = 0;
  if (arguments[4].toInt() != kNoReduction || !target.is_cpu() || self.dim() == 0) return;
  const int64_t classes = self.size(self.dim() == 1 ? 0 : 1);
  for (const int64_t number : WholeNumbers(target)) {
    TORCH_CHECK((number >= 0 && number < classes) || number == arguments[5].toInt(), "target has ", number,
                ", expected a class from 0 to ", classes - 1);
  }
}

void CheckBags(const Stack& arguments) {
  const int64_t indices = TensorOf("indices", arguments[1]).numel();
  const at::Tensor& offsets = TensorOf("offsets", arguments[2]);
  const bool ends = arguments[7].toBool();  // The last offset is where the last bag ends.
  TORCH_CHECK(offsets.dim() == 1 && offsets.numel() >= (ends ? 2 : 1), "offsets has the shape ", offsets.sizes(),
              ", expected at least one bag");
  if (IsGiven(arguments[6])) CheckNumbers("per_sample_weights", arguments[6].toTensor(), indices);
  if (!offsets.is_cpu()) return;
  int64_t last = 0;
  for (const int64_t offset : WholeNumbers(offsets)) {
    TORCH_CHECK(offset >= last && offset <= indices, "offsets has ", offset, " behind ", last,
                ", expected ascending numbers up to ", indices);
    last = offset;
  }
  TORCH_CHECK(offsets[0].item<int64_t>() == 0, "offsets does not begin with 0");
}

// The quotient of the least number and -1 is no number of its type, for which processors end a program.
void CheckTruncatingDivision(const Stack& arguments) {
  if (!arguments[2].isString() || arguments[2].toStringRef() != "trunc") return;
  const at::Tensor& self = TensorOf("self", arguments[0]);
  const bool by_tensor = arguments[1].isTensor();
  if (!by_tensor && !arguments[1].toScalar().isIntegral(/*includeBool=*/false)) return;
  const at::Tensor other = by_tensor ? arguments[1].toTensor() : at::scalar_tensor(arguments[1].toScalar(), at::kLong);
  const c10::ScalarType type = by_tensor ? at::result_type(self, other) : self.scalar_type();
  if (!self.is_cpu() || !c10::isIntegralType(type, /*includeBool=*/false)) return;
  const int64_t least =
      type == at::kLong ? std::numeric_limits<int64_t>::min() : int64_t{std::numeric_limits<int32_t>::min()};
  const at::Tensor by_minus_one = other.eq(-1);
  if (!by_minus_one.any().item<bool>()) return;
  TORCH_CHECK(!self.eq(least).logical_and(by_minus_one).any().item<bool>(), "divides ", least,
              " by -1, expected a quotient that the type of numbers has");
}

const std::unordered_map<std::string, ArgumentCheck>& Checks() {
  static const auto* const checks = new std::unordered_map<std::string, ArgumentCheck>{
      {"aten._adaptive_avg_pool2d_backward.default", &CheckSameButLast<2>},
      {"aten._adaptive_avg_pool3d_backward.default", &CheckSameButLast<3>},
      {"aten._cdist_backward.default", &CheckDistancesBackward},
      {"aten._embedding_bag.default", &CheckBags},
      {"aten._embedding_bag_forward_only.default", &CheckBags},
      {"aten._fft_c2c.default", &CheckFourier},
      {"aten._fft_c2r.default", &CheckFourierToReal},
      {"aten._fft_r2c.default", &CheckFourier},
      {"aten._fused_rms_norm_backward.default", &CheckRmsNormBackward},
      {"aten._log_softmax_backward_data.default", &CheckSoftmaxBackward},
      {"aten._native_batch_norm_legit.no_stats", &CheckBatchNormWithoutStatistics},
      {"aten._native_batch_norm_legit_functional.default", &CheckBatchNorm},
      {"aten._native_batch_norm_legit_no_training.default", &CheckBatchNorm},
      {"aten._pdist_backward.default", &CheckPairsBackward},
      {"aten._scaled_dot_product_flash_attention_for_cpu.default", &CheckFlashAttention},
      {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default", &CheckFlashAttentionBackward},
      {"aten._softmax_backward_data.default", &CheckSoftmaxBackward},
      {"aten.div.Scalar_mode", &CheckTruncatingDivision},
      {"aten.div.Tensor_mode", &CheckTruncatingDivision},
      {"aten.fractional_max_pool2d_backward.default", &CheckFractionalPoolBackward<2>},
      {"aten.fractional_max_pool3d_backward.default", &CheckFractionalPoolBackward<3>},
      {"aten.grid_sampler_2d_backward.default", &CheckGridSamplerBackward<2>},
      {"aten.grid_sampler_3d_backward.default", &CheckGridSamplerBackward<3>},
      {"aten.native_batch_norm_backward.default", &CheckBatchNormBackward},
      {"aten.native_group_norm.default", &CheckGroupNorm},
      {"aten.native_group_norm_backward.default", &CheckGroupNormBackward},
      {"aten.native_layer_norm_backward.default", &CheckLayerNormBackward},
      {"aten.nll_loss2d_backward.default", &CheckClasses},
      {"aten.nll_loss_backward.default", &CheckClasses},
      {"aten.reflection_pad1d_backward.default", &CheckPadBackward<1>},
      {"aten.reflection_pad2d_backward.default", &CheckPadBackward<2>},
      {"aten.reflection_pad3d_backward.default", &CheckPadBackward<3>},
      {"aten.replication_pad1d_backward.default", &CheckPadBackward<1>},
      {"aten.replication_pad2d_backward.default", &CheckPadBackward<2>},
      {"aten.replication_pad3d_backward.default", &CheckPadBackward<3>},
      {"aten.unfold_backward.default", &CheckUnfoldBackward},
  };
  return *checks;
}

}  // namespace

ArgumentCheck ArgumentCheckOf(const std::string& op) {
  const auto found = Checks().find(op);
  return found == Checks().end() ? nullptr : found->second;
}

}  // namespace emplace
