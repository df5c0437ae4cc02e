// Plays episodes of any kind of policy, for tests that look at the decisions of one.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/rng.h"
#include "common/trajectory.h"
#include "policy/player.h"
#include "policy/sample_choice.h"

namespace emplace {

struct Played {
  Trajectory trajectory;  // Its decisions.
  std::vector<float> logits;
  std::vector<uint8_t> placement;
};

// Plays an episode beside others on the same view; returns the first one.
inline Played PlayBeside(Player& player, const TaskView& view, int others, uint64_t seed) {
  std::vector<std::unique_ptr<PlayedEpisode>> episodes;
  std::vector<Rng> rngs;
  for (int e = 0; e <= others; ++e) {
    episodes.push_back(player.Begin(view, {}));
    rngs.push_back(Rng(seed).Fork("episode", static_cast<uint64_t>(e)));
  }
  Played played;
  Decisions decisions;
  while (!episodes[0]->done()) {
    std::vector<PlayedEpisode*> wave;
    std::vector<size_t> index;
    for (size_t e = 0; e < episodes.size(); ++e) {
      if (episodes[e]->done()) continue;
      wave.push_back(episodes[e].get());
      index.push_back(e);
    }
    player.Next(wave, decisions);
    std::vector<uint8_t> choices;
    ForEachDecision(decisions, [&](size_t i, std::span<const float> row) {
      choices.push_back(static_cast<uint8_t>(SampleChoice(row, rngs[index[i]]).index));
      if (index[i] != 0) return;
      played.trajectory.actions.push_back(choices.back());
      played.logits.insert(played.logits.end(), row.begin(), row.end());
    });
    player.Apply(wave, choices);
  }
  played.placement.assign(episodes[0]->placement().begin(), episodes[0]->placement().end());
  return played;
}

// That an episode of a wave has the bits that it has alone.
inline void ExpectSameBitsBesideOthers(Player& player, const TaskView& view, uint64_t seed) {
  const Played alone = PlayBeside(player, view, 0, seed);
  const Played beside = PlayBeside(player, view, 3, seed);
  EXPECT_FALSE(alone.logits.empty());
  EXPECT_EQ(alone.trajectory.actions, beside.trajectory.actions);
  EXPECT_EQ(alone.logits, beside.logits);
}

}  // namespace emplace
