#include "policy/torch/parameters.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/error.h"

namespace emplace {
namespace {

// Each parameter begins at a multiple of so many floats, 64 bytes, as a tensor with memory of its own would.
constexpr size_t kAlignment = 16;

size_t RoomFor(const ParameterSpec& spec) { return (NumEntries(spec) + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void TorchParameters::Set(std::span<const float> values, bool with_gradient) {
  size_t room = 0;
  for (const ParameterSpec& spec : specs_) room += RoomFor(spec);
  torch::Tensor all = torch::empty({static_cast<int64_t>(room)}, torch::kFloat32);
  float* to = all.data_ptr<float>();
  for (const ParameterSpec& spec : specs_) {
    const size_t count = NumEntries(spec);
    EMPLACE_CHECK(count <= values.size());
    std::copy_n(values.begin(), count, to);
    values = values.subspan(count);
    to += RoomFor(spec);
  }
  EMPLACE_CHECK(values.empty());
  all = all.to(device_);  // One copy, since each costs a wait.

  tensors_.clear();
  int64_t begin = 0;
  for (const ParameterSpec& spec : specs_) {
    torch::Tensor tensor = all.narrow(0, begin, static_cast<int64_t>(NumEntries(spec))).view(spec.shape).detach();
    begin += static_cast<int64_t>(RoomFor(spec));
    tensor.requires_grad_(with_gradient);
    index_[spec.name] = tensors_.size();
    tensors_.push_back(std::move(tensor));
  }
}

const torch::Tensor& TorchParameters::operator[](const std::string& name) const {
  const auto found = index_.find(name);
  EMPLACE_CHECK(found != index_.end());
  return tensors_[found->second];
}

void TorchParameters::AddGradient(const std::vector<torch::Tensor>& outputs,
                                  const std::vector<torch::Tensor>& gradients, std::span<float> flat) const {
  std::vector<torch::Tensor> on_device;
  for (const torch::Tensor& gradient : gradients) on_device.push_back(gradient.to(device_));
  const std::vector<torch::Tensor> found =
      torch::autograd::grad(outputs, tensors_, on_device, /*retain_graph=*/std::nullopt, /*create_graph=*/false,
                            /*allow_unused=*/true);
  std::vector<torch::Tensor> parts;
  for (size_t i = 0; i < found.size(); ++i) {
    parts.push_back((found[i].defined() ? found[i] : torch::zeros_like(tensors_[i])).reshape({-1}));
  }
  const torch::Tensor all = torch::cat(parts).cpu();
  const float* const values = all.data_ptr<float>();
  EMPLACE_CHECK(all.numel() == std::ssize(flat));
  for (size_t i = 0; i < flat.size(); ++i) flat[i] += values[i];
}

torch::Tensor Linear(const TorchParameters& parameters, const std::string& name, const torch::Tensor& x) {
  return torch::linear(x, parameters[name + ".weight"], parameters[name + ".bias"]);
}

}  // namespace emplace
