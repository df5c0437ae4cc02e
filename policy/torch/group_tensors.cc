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

GroupTensors GroupTensors::To(c10::Device device) const {
  GroupTensors there = *this;
  for (torch::Tensor* const tensor : {&there.nodes, &there.from, &there.to}) *tensor = tensor->to(device);
  return there;
}

const TensorsOfTasks::Tensors& TensorsOfTasks::Both(GraphId graph) {
  std::optional<Tensors>& tensors = tensors_[graph];
  if (!tensors) {
    const GroupTensors on_host(MakeGroupFeatures(tasks_[graph].groups));
    tensors = Tensors{.on_host = on_host, .on_device = on_host.To(device_)};
  }
  return *tensors;
}

torch::Tensor OnHost(const torch::Tensor& tensor) { return tensor.detach().cpu().contiguous(); }

void AppendLogits(const torch::Tensor& logits, std::span<const uint8_t> allowed, std::vector<float>& values) {
  EMPLACE_CHECK(logits.is_cpu() && logits.numel() == std::ssize(allowed));
  const torch::Tensor dense = logits.detach().contiguous();
  const float* const given = dense.data_ptr<float>();
  for (size_t i = 0; i < allowed.size(); ++i) {
    values.push_back(allowed[i] == 1 ? given[i] : -std::numeric_limits<float>::infinity());
  }
}

void AppendLogits(const torch::Tensor& logits, std::vector<float>& values) {
  EMPLACE_CHECK(logits.is_cpu());
  const torch::Tensor dense = logits.detach().contiguous();
  values.insert(values.end(), dense.data_ptr<float>(), dense.data_ptr<float>() + dense.numel());
}

}  // namespace emplace
