#include "policy/players.h"

#include "policy/policy_kinds.h"
#include "policy/policy_weights.h"

namespace emplace {

std::unique_ptr<Player> MakePlayer(const PolicyShape& shape) { return FindPolicyKind(shape.kind).MakePlayer(shape); }

std::unique_ptr<Player> MakePlayer(const PolicyWeights& weights) {
  std::unique_ptr<Player> player = MakePlayer(weights.shape);
  player->SetWeights(weights);
  return player;
}

}  // namespace emplace
