#include "simulator/environment/vector_env.h"

#include <algorithm>
#include <utility>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr size_t kSharedFeatures = 4;  // Cost, output bytes, visited, current; then one a device.

// Each value over the largest; 0 where that is 0. REQUIRES: values are not empty.
template <typename T>
std::vector<float> OverLargest(const std::vector<T>& values) {
  const auto largest = static_cast<double>(*std::ranges::max_element(values));
  std::vector<float> shares(values.size());
  if (largest > 0) {
    std::ranges::transform(values, shares.begin(),
                           [&](T value) { return static_cast<float>(static_cast<double>(value) / largest); });
  }
  return shares;
}

}  // namespace

VectorEnv::VectorEnv(PlacementTask task, const EnvironmentConfig& config, size_t count)
    : task_(std::move(task)),
      rngs_(count, Rng(0)),
      rho_(count),
      cost_(OverLargest(task_.groups.cost_us)),
      bytes_(OverLargest(task_.groups.output_bytes)) {
  EMPLACE_CHECK(count >= 1);
  for (size_t i = 0; i < count; ++i) envs_.emplace_back(task_, config);
}

double VectorEnv::Step(size_t index, int32_t device) {
  PlacementEnv& env = envs_.at(index);
  if (env.done()) throw BadInput("the episode has ended, expected reset() before another step()");
  CheckAction(device);
  const auto group = static_cast<size_t>(env.step());
  if (!task_.groups.Allowed(group, static_cast<size_t>(device))) device = env.placement()[group];
  const double before = rho_[index];
  rho_[index] = env.Step(device);
  return before - rho_[index];
}

std::vector<double> VectorEnv::StepAll(std::span<const int32_t> devices) {
  for (size_t i = 0; i < envs_.size(); ++i) {
    if (!envs_[i].done()) CheckAction(devices[i]);  // Before any of them is stepped.
  }
  std::vector<double> rewards(envs_.size());
  for (size_t i = 0; i < envs_.size(); ++i) {
    if (envs_[i].done()) {
      Reset(i);
    } else {
      rewards[i] = Step(i, devices[i]);
    }
  }
  return rewards;
}

size_t VectorEnv::features() const { return kSharedFeatures + static_cast<size_t>(task_.groups.num_devices); }

void VectorEnv::Observe(size_t index, float* out) const {
  const PlacementEnv& env = envs_.at(index);
  const auto devices = static_cast<size_t>(task_.groups.num_devices);
  for (size_t g = 0; g < cost_.size(); ++g) {
    float* const row = out + g * features();
    row[0] = cost_[g];
    row[1] = bytes_[g];
    row[2] = g < static_cast<size_t>(env.step()) ? 1 : 0;
    row[3] = g == static_cast<size_t>(env.step()) ? 1 : 0;
    std::fill_n(row + kSharedFeatures, devices, 0.0F);
    row[kSharedFeatures + env.placement()[g]] = 1;
  }
}

void VectorEnv::Mask(size_t index, int8_t* out) const {
  const PlacementEnv& env = envs_.at(index);
  for (size_t d = 0; d < static_cast<size_t>(task_.groups.num_devices); ++d) {
    out[d] = env.done() || task_.groups.Allowed(static_cast<size_t>(env.step()), d) ? 1 : 0;
  }
}

void VectorEnv::CheckAction(int32_t device) const {
  if (device < 0 || device >= task_.groups.num_devices)
    throw BadInput(StrCat("the action is ", device, ", expected a device, 0 to ", task_.groups.num_devices - 1));
}

}  // namespace emplace
