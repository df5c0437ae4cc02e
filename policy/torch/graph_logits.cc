#include "policy/torch/graph_logits.h"

namespace emplace {

std::span<const float> GraphLogits::AddSlopes(GraphId graph, std::span<const float> slopes) {
  torch::Tensor& sum = slopes_[graph];
  if (!sum.defined()) sum = torch::zeros_like(logits_.at(graph).values);
  const auto count = static_cast<size_t>(sum.numel());
  float* const values = sum.data_ptr<float>();
  for (size_t i = 0; i < count; ++i) values[i] += slopes[i];
  return slopes.subspan(count);
}

void GraphLogits::AddGradient(const TorchParameters& parameters, std::span<float> gradient) {
  for (const auto& [graph, sum] : slopes_) {
    parameters.AddGradient({logits_.at(graph).computed}, {sum}, gradient);
    logits_.erase(graph);
  }
  slopes_.clear();
}

}  // namespace emplace
