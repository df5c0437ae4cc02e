// The one function of libemplace_torch.so.
#include "policy/torch/torch_entry.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <span>

#include "common/error.h"
#include "policy/torch/gpu_model.h"
#include "policy/torch/torch_kinds.h"

namespace emplace {
namespace {

const TorchKindEntry& KindOf(const PolicyShape& shape) {
  const std::span<const TorchKindEntry> kinds = TorchKinds();
  const auto kind = std::ranges::find(kinds, shape.kind, &TorchKindEntry::name);
  EMPLACE_CHECK(kind != kinds.end());
  return *kind;
}

std::unique_ptr<Player> MakePlayerHere(const PolicyShape& shape) { return KindOf(shape).make_player(shape); }

std::unique_ptr<Model> MakeModelHere(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) {
  return KindOf(shape).make_model(shape, tasks, c10::DeviceType::CPU);
}

std::unique_ptr<Model> MakeGpuModelHere(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                        int32_t gpu) {
  return MakeModelOnGpu(gpu, [&](c10::Device device) { return KindOf(shape).make_model(shape, tasks, device); });
}

}  // namespace
}  // namespace emplace

extern "C" __attribute__((visibility("default"))) const emplace::TorchEntry* EmplaceTorchEntry() {
  // How many threads share a sum decides its bits.
  at::set_num_threads(1);
  static const emplace::TorchEntry entry = {EMPLACE_VERSION, emplace::MakePlayerHere, emplace::MakeModelHere,
                                            emplace::WhyNoGpuForModels, emplace::MakeGpuModelHere};
  return &entry;
}
