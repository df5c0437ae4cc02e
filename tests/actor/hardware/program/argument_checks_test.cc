#include "actor/hardware/program/argument_checks.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace emplace {
namespace {

using c10::IValue;
using testing::HasSubstr;
using torch::jit::Stack;

at::Tensor Zeros(const std::vector<int64_t>& shape) { return at::zeros(shape); }
at::Tensor Numbers(const std::vector<int64_t>& numbers) { return at::tensor(numbers, at::kLong); }
IValue List(const std::vector<int64_t>& numbers) { return c10::List<int64_t>(numbers); }

// "" where the check lets the arguments pass.
std::string ErrorOf(const std::string& op, const Stack& arguments) {
  const ArgumentCheck check = ArgumentCheckOf(op);
  if (check == nullptr) return "there is no check of " + op;
  try {
    check(arguments);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

struct Case {
  std::string op;
  Stack right;
  size_t position;  // Of the argument that is wrong.
  IValue wrong;
  std::string error;
};

// Each wrong one crashes LibTorch 2.11, or has it read or write memory of others.
std::vector<Case> Cases() {
  const at::Tensor image = Zeros({2, 3, 8, 8});
  const at::Tensor volume = Zeros({2, 3, 8, 8, 8});
  const at::Tensor channels = Zeros({3});
  const at::Tensor one = Zeros({1});
  const IValue none;
  const IValue mask = c10::List<bool>({true, true, true});
  std::vector<Case> cases = {
      {"nll_loss_backward.default",
       {Zeros({2}), Zeros({2, 4}), Numbers({3, -100}), none, 0, -100, one},
       2,
       Numbers({4, 0}),
       "target has 4, expected a class from 0 to 3"},
      {"nll_loss_backward.default",
       {Zeros({2}), Zeros({2, 4}), Numbers({3, 0}), none, 0, -100, one},
       2,
       Numbers({-1, 0}),
       "target has -1"},
      {"nll_loss2d_backward.default",
       {Zeros({1, 1, 2}), Zeros({1, 4, 1, 2}), Numbers({0, 3}).view({1, 1, 2}), none, 0, -100, one},
       2,
       Numbers({0, 4}).view({1, 1, 2}),
       "target has 4"},
      {"_adaptive_avg_pool2d_backward.default",
       {Zeros({2, 3, 2, 2}), image},
       0,
       Zeros({2, 9, 2, 2}),
       "grad_output has"},
      {"_adaptive_avg_pool3d_backward.default",
       {Zeros({2, 3, 2, 2, 2}), volume},
       0,
       Zeros({9, 3, 2, 2, 2}),
       "grad_output has the shape [9, 3, 2, 2, 2], expected [2, 3, 2, 2, 2]"},
      {"_native_batch_norm_legit_functional.default",
       {image, none, channels, channels, channels, true, 0.1, 1e-5},
       3,
       one,
       "expected 3 numbers"},
      {"_native_batch_norm_legit_functional.default",
       {image, none, channels, channels, channels, true, 0.1, 1e-5},
       4,
       one.expand({3}),
       "the strides [0], expected 3 numbers one behind the other"},
      {"_native_batch_norm_legit_no_training.default",
       {image, channels, none, channels, channels, 0.1, 1e-5},
       1,
       one,
       "expected 3 numbers"},
      {"_native_batch_norm_legit_no_training.default",
       {image, channels, none, channels, channels, 0.1, 1e-5},
       3,
       at::Tensor(),
       "running_mean is missing"},
      {"_native_batch_norm_legit.no_stats", {image, channels, none, true, 0.1, 1e-5}, 3, false, "training is False"},
      {"native_batch_norm_backward.default",
       {image, image, channels, none, none, channels, channels, true, 1e-5, mask},
       5,
       one,
       "expected 3 numbers"},
      {"native_batch_norm_backward.default",
       {image, image, channels, channels, channels, Zeros({0}), Zeros({0}), false, 1e-5, mask},
       4,
       none,
       "is missing"},
      {"native_batch_norm_backward.default",
       {image, image, channels, none, none, channels, channels, true, 1e-5, mask},
       0,
       Zeros({2, 3, 8, 9}),
       "grad_out has the shape [2, 3, 8, 9], expected [2, 3, 8, 8]"},
      {"_embedding_bag.default",
       {Zeros({9, 4}), Numbers({0, 0, 0}), Numbers({0, 3}), false, 0, false, none, true, -1},
       2,
       Numbers({0}),
       "expected at least one bag"},
      {"_embedding_bag_forward_only.default",
       {Zeros({9, 4}), Numbers({0, 0, 0}), Numbers({0, 3}), false, 0, false, none, false, -1},
       2,
       Numbers({0, 4}),
       "offsets has 4 behind 0, expected ascending numbers up to 3"},
      {"_embedding_bag_forward_only.default",
       {Zeros({9, 4}), Numbers({0, 0, 0}), Numbers({0, 3}), false, 0, false, none, false, -1},
       2,
       Numbers({1, 3}),
       "does not begin with 0"},
      {"_fft_c2c.default",
       {Zeros({4, 4}), List({1, 0}), 0, true},
       1,
       List({0, 1000000}),
       "expected different dimensions"},
      {"_fft_r2c.default", {Zeros({4, 4}), List({1}), 0, true}, 1, List({1, 1}), "expected different dimensions"},
      {"_fft_r2c.default", {Zeros({4, 4}), List({1}), 0, true}, 1, List({}), "dim is empty"},
      {"_fft_c2r.default",
       {Zeros({4, 4}), List({1}), 0, 7},
       3,
       100,
       "self has 4 numbers in the last of dim, expected 51"},
      {"native_group_norm.default",
       {image, none, channels, 2, 3, 64, 3, 1e-5},
       5,
       (int64_t{1} << 62) + 1,
       "a product below 2^63"},
      {"native_group_norm.default",
       {image, none, channels, 2, 3, 64, 3, 1e-5},
       5,
       65,
       "input has 384 numbers, expected 390"},
      {"native_group_norm.default", {image, none, channels, 2, 3, 64, 3, 1e-5}, 6, 0, "group is 0"},
      {"native_group_norm_backward.default",
       {image, image, Zeros({2, 3}), Zeros({2, 3}), channels, 2, 3, 64, 3, mask},
       3,
       one,
       "rstd has"},
      {"reflection_pad2d_backward.default",
       {Zeros({2, 3, 10, 12}), image, List({1, 3, 0, 2})},
       2,
       List({}),
       "padding has 0 numbers, expected 4"},
      {"replication_pad2d_backward.default",
       {Zeros({2, 3, 10, 12}), image, List({1, 3, 0, 2})},
       0,
       Zeros({1, 1, 10, 12}),
       "grad_output has the shape [1, 1, 10, 12], expected [2, 3, 10, 12]"},
      {"replication_pad2d_backward.default",
       {Zeros({2, 3, 10, 12}), image, List({1, 3, 0, 2})},
       2,
       List({std::numeric_limits<int64_t>::max(), 3, 0, 2}),
       "expected less"},
      {"fractional_max_pool2d_backward.default",
       {Zeros({2, 3, 4, 4}), image, List({2, 2}), List({4, 4}), Numbers({}).new_zeros({2, 3, 4, 4})},
       3,
       List({}),
       "expected 2"},
      {"_cdist_backward.default",
       {Zeros({5, 7}), Zeros({5, 2}), Zeros({7, 2}), 2.0, Zeros({5, 7})},
       4,
       Zeros({1, 1}),
       "cdist has the shape [1, 1], expected [5, 7]"},
      {"_cdist_backward.default",
       {Zeros({3, 5, 7}), Zeros({3, 5, 2}), Zeros({1, 7, 2}), 2.0, Zeros({3, 5, 7})},
       0,
       Zeros({1, 5, 7}),
       "grad has"},
      {"_pdist_backward.default",
       {Zeros({6}), Zeros({4, 2}), 2.0, Zeros({6})},
       3,
       Zeros({1}),
       "pdist has the shape [1]"},
      {"native_layer_norm_backward.default",
       {Zeros({5, 6, 4}), Zeros({5, 6, 4}), List({4}), Zeros({5, 6, 1}), Zeros({5, 6, 1}), none, none, mask},
       3,
       one,
       "expected 30 numbers"},
      {"_fused_rms_norm_backward.default",
       {Zeros({5, 4}), Zeros({5, 4}), List({4}), Zeros({5, 1}), none, mask},
       3,
       one,
       "expected 5 numbers"},
      {"grid_sampler_2d_backward.default",
       {Zeros({2, 3, 5, 6}), image, Zeros({2, 5, 6, 2}), 0, 0, false, mask},
       0,
       Zeros({1, 1, 1, 1}),
       "expected [2, 3, 5, 6]"},
      {"grid_sampler_3d_backward.default",
       {Zeros({2, 3, 5, 6, 7}), volume, Zeros({2, 5, 6, 7, 3}), 0, 0, false, mask},
       0,
       Zeros({2, 3, 5, 6, 1}),
       "expected [2, 3, 5, 6, 7]"},
      {"_log_softmax_backward_data.default", {Zeros({4, 5}), Zeros({4, 5}), 1, 6}, 1, Zeros({1, 1}), "output has"},
      {"unfold_backward.default",
       {Zeros({3, 4, 5, 2}), List({3, 4, 11}), -1, 2, 2},
       0,
       Zeros({3, 4, 5, 1}),
       "grad_in has the shape [3, 4, 5, 1], expected [3, 4, 5, 2]"},
      {"unfold_backward.default", {Zeros({3, 4, 5, 2}), List({3, 4, 11}), -1, 2, 2}, 4, 0, "a step above 0"},
      {"div.Tensor_mode",
       {Numbers({7, -3}), Numbers({-1, 2}), "trunc"},
       0,
       Numbers({std::numeric_limits<int64_t>::min(), 1}),
       "by -1"},
      {"div.Scalar_mode",
       {Numbers({7, -3}).to(at::kInt), -1, "trunc"},
       0,
       Numbers({std::numeric_limits<int32_t>::min()}).to(at::kInt),
       "by -1"},
  };
  return cases;
}

TEST(ArgumentChecks, LetPassWhatGoesTogetherAndNothingElse) {
  for (const Case& one : Cases()) {
    const std::string op = "aten." + one.op;
    EXPECT_EQ(ErrorOf(op, one.right), "") << op;
    Stack wrong = one.right;
    wrong[one.position] = one.wrong;
    EXPECT_THAT(ErrorOf(op, wrong), HasSubstr(one.error)) << op;
  }
}

TEST(ArgumentChecks, LeaveOtherOperatorsAlone) { EXPECT_EQ(ArgumentCheckOf("aten.addmm.default"), nullptr); }

}  // namespace
}  // namespace emplace
