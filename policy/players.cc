#include "policy/players.h"

#include <string>

#include "common/error.h"
#include "policy/placeto/placeto_player.h"
#include "policy/policy_weights.h"
#include "policy/torch_library.h"

namespace emplace {
namespace {

struct PlayerEntry {
  const char* kind;
  std::unique_ptr<Player> (*make)(const PolicyShape& shape);
};

constexpr PlayerEntry kPlayers[] = {{"placeto", MakePlacetoPlayer},
                                    {"sgdp", MakeTorchPlayer},
                                    {"rnn", MakeTorchPlayer},
                                    {"hierarchical", MakeTorchPlayer}};

}  // namespace

std::unique_ptr<Player> MakePlayer(const PolicyShape& shape) {
  for (const PlayerEntry& entry : kPlayers) {
    if (shape.kind == entry.kind) return entry.make(shape);
  }
  EMPLACE_CHECK(false);
  return nullptr;
}

std::unique_ptr<Player> MakePlayer(const PolicyWeights& weights) {
  std::unique_ptr<Player> player = MakePlayer(weights.shape);
  player->SetWeights(weights);
  return player;
}

}  // namespace emplace
