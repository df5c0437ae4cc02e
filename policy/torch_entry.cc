// The one function of libemplace_torch.so, and the kinds that it has.
#include "policy/torch_entry.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <iterator>

#include "common/error.h"
#include "policy/hierarchical/hierarchical_model.h"
#include "policy/hierarchical/hierarchical_player.h"
#include "policy/rnn/rnn_model.h"
#include "policy/rnn/rnn_player.h"
#include "policy/sgdp/sgdp_network.h"
#include "policy/torch/gpu_model.h"

namespace emplace {
namespace {

struct TorchKind {
  const char* name;
  std::unique_ptr<Player> (*make_player)(const PolicyShape& shape);
  std::unique_ptr<Model> (*make_model)(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                       c10::Device device);
};

constexpr TorchKind kKinds[] = {{"hierarchical", MakeHierarchicalPlayer, MakeHierarchicalModel},
                                {"rnn", MakeRnnPlayer, MakeRnnModel},
                                {"sgdp", MakeSgdpPlayer, MakeSgdpModel}};

const TorchKind& KindOf(const PolicyShape& shape) {
  const auto* const kind = std::ranges::find(kKinds, shape.kind, &TorchKind::name);
  EMPLACE_CHECK(kind != std::end(kKinds));
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
