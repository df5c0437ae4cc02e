#include "policy/torch/torch_kinds.h"

#include "policy/hierarchical/hierarchical_model.h"
#include "policy/hierarchical/hierarchical_player.h"
#include "policy/rnn/rnn_model.h"
#include "policy/rnn/rnn_player.h"
#include "policy/sgdp/sgdp_network.h"

namespace emplace {

std::span<const TorchKindEntry> TorchKinds() {
  static constexpr TorchKindEntry kKinds[] = {
      {"hierarchical", MakeHierarchicalPlayer, MakeHierarchicalModel},
      {"rnn", MakeRnnPlayer, MakeRnnModel},
      {"sgdp", MakeSgdpPlayer, MakeSgdpModel},
  };
  return kKinds;
}

}  // namespace emplace
