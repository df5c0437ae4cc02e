#include "policy/torch/parameters.h"

#include <torch/csrc/autograd/autograd.h>

#include "common/error.h"

namespace emplace {

void TorchParameters::Set(std::span<const float> values, bool with_gradient) {
  tensors_.clear();
  for (const ParameterSpec& spec : specs_) {
    const size_t count = NumEntries(spec);
    EMPLACE_CHECK(count <= values.size());
    torch::Tensor tensor = torch::empty(spec.shape, torch::kFloat32);
    std::copy_n(values.begin(), count, tensor.data_ptr<float>());
    values = values.subspan(count);
    tensor.requires_grad_(with_gradient);
    index_[spec.name] = tensors_.size();
    tensors_.push_back(std::move(tensor));
  }
  EMPLACE_CHECK(values.empty());
}

const torch::Tensor& TorchParameters::operator[](const std::string& name) const {
  const auto found = index_.find(name);
  EMPLACE_CHECK(found != index_.end());
  return tensors_[found->second];
}

void TorchParameters::AddGradient(const std::vector<torch::Tensor>& outputs,
                                  const std::vector<torch::Tensor>& gradients, std::span<float> flat) const {
  const std::vector<torch::Tensor> found =
      torch::autograd::grad(outputs, tensors_, gradients, /*retain_graph=*/std::nullopt, /*create_graph=*/false,
                            /*allow_unused=*/true);
  for (size_t i = 0; i < found.size(); ++i) {
    const size_t count = NumEntries(specs_[i]);
    if (found[i].defined()) {
      const torch::Tensor dense = found[i].contiguous();
      const float* const values = dense.data_ptr<float>();
      for (size_t j = 0; j < count; ++j) flat[j] += values[j];
    }
    flat = flat.subspan(count);
  }
}

}  // namespace emplace
