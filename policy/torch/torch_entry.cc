// The one function of libemplace_torch.so, and the kinds that it has.
#include "policy/torch/torch_entry.h"

#include <ATen/Parallel.h>

#include "common/error.h"
#include "policy/sgdp/sgdp_network.h"
#include "policy/torch/one_shot.h"

namespace emplace {
namespace {

struct OneShotKind {
  const char* name;
  std::unique_ptr<OneShotNetwork> (*make)(const PolicyShape& shape);
};

constexpr OneShotKind kOneShotKinds[] = {{"sgdp", MakeSgdpNetwork}};

std::unique_ptr<OneShotNetwork> MakeNetwork(const PolicyShape& shape) {
  for (const OneShotKind& kind : kOneShotKinds) {
    if (shape.kind == kind.name) return kind.make(shape);
  }
  EMPLACE_CHECK(false);
  return nullptr;
}

std::unique_ptr<Player> MakePlayerHere(const PolicyShape& shape) {
  return MakeOneShotPlayer(shape, MakeNetwork(shape));
}

std::unique_ptr<Model> MakeModelHere(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) {
  return MakeOneShotModel(shape, MakeNetwork(shape), tasks);
}

}  // namespace
}  // namespace emplace

extern "C" __attribute__((visibility("default"))) const emplace::TorchEntry* EmplaceTorchEntry() {
  // How many threads share a sum decides its bits.
  at::set_num_threads(1);
  static const emplace::TorchEntry entry = {EMPLACE_VERSION, emplace::MakePlayerHere, emplace::MakeModelHere};
  return &entry;
}
