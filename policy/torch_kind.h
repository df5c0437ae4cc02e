// A kind of policy that is computed with LibTorch: its players and models are in libemplace_torch.so, where
// policy/torch_kinds.cc lists them. No LibTorch here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/fields_kind.h"
#include "policy/torch_library.h"

namespace emplace {

template <typename Keys>
class TorchKind : public FieldsKind<Keys> {
 public:
  using FieldsKind<Keys>::FieldsKind;

  std::unique_ptr<Player> MakePlayer(const PolicyShape& shape) const final { return MakeTorchPlayer(shape); }
  std::unique_ptr<Model> MakeModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) const final {
    return MakeTorchModel(shape, tasks);
  }
  std::string WhyNoGpu(const PolicyShape& shape) const final { return WhyNoTorchGpu(shape); }
  std::unique_ptr<Model> MakeGpuModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                      int32_t gpu) const final {
    return MakeTorchGpuModel(shape, tasks, gpu);
  }
};

}  // namespace emplace
