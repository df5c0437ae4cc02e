#include "policy/torch/group_tensors.h"

#include <algorithm>
#include <limits>

#include "common/error.h"

namespace emplace {
namespace {

torch::Tensor Indices(const std::vector<int64_t>& values) {
  torch::Tensor tensor = torch::empty({std::ssize(values)}, torch::kInt64);
  std::ranges::copy(values, tensor.data_ptr<int64_t>());
  return tensor;
}

}  // namespace

GroupTensors::GroupTensors(const GroupFeatures& features)
    : nodes(torch::empty({features.num_groups, kNumGroupFeatures}, torch::kFloat32)),
      from(Indices(features.from)),
      to(Indices(features.to)) {
  std::ranges::copy(features.nodes, nodes.data_ptr<float>());
}

const GroupTensors& TensorsOfTasks::Of(GraphId graph) {
  std::optional<GroupTensors>& tensors = tensors_[graph];
  if (!tensors) tensors.emplace(MakeGroupFeatures(tasks_[graph].groups));
  return *tensors;
}

void AppendLogits(const torch::Tensor& logits, std::span<const uint8_t> allowed, std::vector<float>& values) {
  EMPLACE_CHECK(logits.numel() == std::ssize(allowed));
  const torch::Tensor dense = logits.detach().contiguous();
  const float* const given = dense.data_ptr<float>();
  for (size_t i = 0; i < allowed.size(); ++i) {
    values.push_back(allowed[i] == 1 ? given[i] : -std::numeric_limits<float>::infinity());
  }
}

void AppendLogits(const torch::Tensor& logits, std::vector<float>& values) {
  const torch::Tensor dense = logits.detach().contiguous();
  values.insert(values.end(), dense.data_ptr<float>(), dense.data_ptr<float>() + dense.numel());
}

}  // namespace emplace
