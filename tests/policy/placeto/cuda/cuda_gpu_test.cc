// On a GPU: what policy_cuda_kernels_test and policy_cuda_order_test prove of the same source on the host, and what
// only a device can show. Every test skips itself, and says so, where there is no GPU.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "policy/placeto/cuda/cuda_support.h"
#include "policy/placeto/cuda/update_cuda.h"
#include "tests/support/host_block.h"
#include "tests/support/random_policy.h"
#include "tests/support/torch_policy.h"

namespace emplace {
namespace {

class PlacetoCudaGpu : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = gpu::WhyNoGpu();
    if (!why_not.empty()) GTEST_SKIP() << "no GPU to test on: " << why_not;
    at::set_num_threads(1);
  }
};

// Floats on the device.
class DeviceFloats {
 public:
  explicit DeviceFloats(size_t count) : count_(count), memory_(gpu::AllocateDevice(count * sizeof(float))) {}
  explicit DeviceFloats(const std::vector<float>& values) : DeviceFloats(values.size()) {
    gpu::Check(cudaMemcpy(memory_.get(), values.data(), count_ * sizeof(float), cudaMemcpyHostToDevice), "copy");
    gpu::Check(cudaDeviceSynchronize(), "copy");
  }
  float* data() const { return reinterpret_cast<float*>(memory_.get()); }
  std::vector<float> Read() const {
    std::vector<float> values(count_);
    gpu::Check(cudaMemcpy(values.data(), memory_.get(), count_ * sizeof(float), cudaMemcpyDeviceToHost), "copy");
    return values;
  }

 private:
  size_t count_;
  gpu::DeviceMemory memory_;
};

struct Passes {
  std::vector<float> logits;
  std::vector<float> gradient;
};
Passes RunPasses(gpu::PlacetoCuda& policy, const RandomBatch& batch, const PolicyWeights& weights,
                 const std::vector<float>& d_logits) {
  const gpu::Stream stream;
  const DeviceFloats values(weights.values);
  const DeviceFloats device_d_logits(d_logits);
  const DeviceFloats logits(d_logits.size());
  const DeviceFloats gradient(weights.values.size());
  policy.SetBatch(batch.sources(), batch.states, stream.get());
  policy.Forward(values.data(), logits.data(), stream.get());
  policy.Backward(device_d_logits.data(), gradient.data(), stream.get());
  stream.Synchronize();
  return {logits.Read(), gradient.Read()};
}

TEST_F(PlacetoCudaGpu, LogitsAndGradientsEqualLibTorch) {
  Rng rng(51);
  for (int trial = 0; trial < 20; ++trial) {
    SCOPED_TRACE(trial);
    const PlacetoShape shape = RandomGpuShape(rng);
    const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
    const RandomBatch batch(shape, RandomNodeCounts(rng), rng);
    PlacetoNet net(weights);
    const torch::Tensor logits = TorchForward(net, batch);
    std::vector<float> d_logits;
    for (const float logit : Flat(logits)) {
      d_logits.push_back(std::isinf(logit) ? 0 : static_cast<float>(rng.Uniform(-1, 1)));
    }
    logits.backward(torch::tensor(d_logits).view(logits.sizes()));
    const std::vector<float> expected = TorchGradient(net);

    // All graphs in shared memory, some, or none.
    for (const int64_t shared : {gpu::kAllSharedMemory, int64_t{24} << 10, int64_t{0}}) {
      gpu::PlacetoCuda policy(shape, batch.graph_pointers(), shared);
      const Passes once = RunPasses(policy, batch, weights, d_logits);
      ExpectLogits(once.logits, Flat(logits));
      ExpectGradient(shape, once.gradient, expected);
      const Passes again = RunPasses(policy, batch, weights, d_logits);
      EXPECT_EQ(again.logits, once.logits);
      EXPECT_EQ(again.gradient, once.gradient);
    }
    if (HasFailure()) break;
  }
}

TEST_F(PlacetoCudaGpu, GraphsPastSharedMemoryWorkInGlobalMemory) {
  Rng rng(52);
  const PlacetoShape shape{.num_devices = 4, .memory_feature = true, .message_rounds = 2, .message_width = 16};
  const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
  const RandomBatch batch(shape, {40, 1500}, rng);
  gpu::PlacetoCuda policy(shape, batch.graph_pointers());
  ASSERT_GE(policy.small_nodes(), 40);
  ASSERT_LT(policy.small_nodes(), 1500);
  PlacetoNet net(weights);
  const torch::Tensor logits = TorchForward(net, batch);
  const std::vector<float> d_logits(Flat(logits).size(), 0.0F);
  ExpectLogits(RunPasses(policy, batch, weights, d_logits).logits, Flat(logits));
}

constexpr gpu::UpdateScalars kScalars{
    .learning_rate = 1e-3, .gradient_clip = 1, .entropy_weight = 0.1F, .importance_clip = 1.5F};

// Over batches that grow past what the first one made room for.
TEST_F(PlacetoCudaGpu, UpdatesEqualUpdatesOnTheHost) {
  Rng rng(53);
  const PlacetoShape shape{.num_devices = 3, .memory_feature = true, .message_rounds = 3, .message_width = 0};
  const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
  const RandomBatch drawn(shape, {1, 20, 60, 61, 62}, rng);
  HostPolicy host(shape, drawn.graph_pointers(), RandomLaunchSizes(60, rng), 1);
  HostOptimizer optimizer(weights.values);
  gpu::UpdateCuda device(shape, drawn.graph_pointers(), weights.values);
  std::vector<std::vector<gpu::StateEntry>> batches;
  for (size_t copies = 1; copies <= 64; copies *= 4) {
    batches.emplace_back();
    for (size_t i = 0; i < copies; ++i) {
      batches.back().insert(batches.back().end(), drawn.states.begin(), drawn.states.end());
    }
  }
  ASSERT_GT(batches.back().size(), 256U);
  std::vector<float> values(weights.values.size());
  std::vector<float> expected;
  for (const std::vector<gpu::StateEntry>& batch : batches) {
    const gpu::UpdateReport report = device.Update(drawn.sources(), batch, kScalars, values);
    host.SetBatch(drawn.sources(), batch, kScalars);
    const gpu::UpdateReport on_host = host.Update(optimizer.view(), expected);
    EXPECT_NEAR(report.loss, on_host.loss, 1e-4);
    EXPECT_NEAR(report.entropy, on_host.entropy, 1e-4);
    EXPECT_NEAR(report.gradient_norm, on_host.gradient_norm, 1e-3 * on_host.gradient_norm);
    EXPECT_EQ(report.adam_steps, on_host.adam_steps);
    // Adam's first steps are as long for tiny gradients as for large ones, so a few may go the other way.
    double error = 0;
    for (size_t p = 0; p < values.size(); ++p) {
      error += std::abs(static_cast<double>(values[p]) - static_cast<double>(expected[p]));
    }
    EXPECT_LT(error / static_cast<double>(values.size()), 2e-5);
  }
}

TEST_F(PlacetoCudaGpu, EqualUpdatesGiveEqualBitsAlsoFromSavedMoments) {
  Rng rng(54);
  const PlacetoShape shape{.num_devices = 2, .memory_feature = false, .message_rounds = 8, .message_width = 0};
  const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
  const RandomBatch batch(shape, {1, 30, 64}, rng);
  std::vector<float> unbroken(weights.values.size());
  gpu::UpdateCuda all(shape, batch.graph_pointers(), weights.values);
  for (int i = 0; i < 4; ++i) {
    all.Update(batch.sources(), batch.states, kScalars, unbroken);
  }
  std::vector<float> resumed(weights.values.size());
  AdamState moments;
  {
    gpu::UpdateCuda first(shape, batch.graph_pointers(), weights.values);
    for (int i = 0; i < 2; ++i) {
      first.Update(batch.sources(), batch.states, kScalars, resumed);
    }
    moments = first.SaveAdam();
    EXPECT_EQ(moments.steps, 2);
  }
  gpu::UpdateCuda second(shape, batch.graph_pointers(), resumed);
  second.LoadAdam(moments);
  for (int i = 0; i < 2; ++i) {
    second.Update(batch.sources(), batch.states, kScalars, resumed);
  }
  EXPECT_EQ(resumed, unbroken);
  EXPECT_NE(resumed, weights.values);
}

TEST_F(PlacetoCudaGpu, TimedKernelsMakeTheSameUpdates) {
  Rng rng(55);
  const PlacetoShape shape{.num_devices = 2, .memory_feature = false, .message_rounds = 2, .message_width = 0};
  const PolicyWeights weights = RandomPlacetoWeights(shape, rng);
  const RandomBatch batch(shape, {1, 30, 64}, rng);
  std::vector<float> expected(weights.values.size());
  gpu::UpdateCuda plain(shape, batch.graph_pointers(), weights.values);
  for (int i = 0; i < 3; ++i) {
    plain.Update(batch.sources(), batch.states, kScalars, expected);
  }
  gpu::UpdateCuda timed(shape, batch.graph_pointers(), weights.values);
  const std::vector<gpu::KernelTime> times =
      timed.TimeKernels(batch.sources(), batch.states, kScalars);  // Two updates.
  EXPECT_EQ(std::ssize(times), 10);
  for (const gpu::KernelTime& time : times) EXPECT_GT(time.us, 0) << time.work.kernel;
  std::vector<float> values(weights.values.size());
  timed.Update(batch.sources(), batch.states, kScalars, values);
  EXPECT_EQ(values, expected);
}

}  // namespace
}  // namespace emplace
