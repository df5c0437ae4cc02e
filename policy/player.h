// Acting with a policy: how actors roll out, and how `emplace place` and evaluations place graphs.
//
//   const auto view = player->View(task);
//   episodes.push_back(player->Begin(*view, start));
//   while (!episodes[0]->done()) {
//     player->Next(episodes, decisions);     // What the policy thinks of each choice,
//     ...choose...                           // which is the caller's to make,
//     player->Apply(episodes, choices);      // and which an autoregressive policy needs back.
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "policy/policy_weights.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// What a player makes of a task before the episodes on it: its features, for instance.
class TaskView {
 public:
  virtual ~TaskView() = default;
};

// An episode that is being played.
class PlayedEpisode {
 public:
  virtual ~PlayedEpisode() = default;
  virtual bool done() const = 0;  // Whether everything has been decided.
  // [n] device of each group: as decided so far, and else where the episode started. Whole once it is done.
  virtual std::span<const uint8_t> placement() const = 0;
};

// What is to be decided for one episode now: `count` decisions, each between `num_choices`.
struct DecisionBlock {
  int32_t count = 0;
  int32_t num_choices = 0;
};

// What is to be decided for a wave of episodes now.
struct Decisions {
  std::vector<DecisionBlock> blocks;  // [episodes]
  // The blocks one after the other, each [count, num_choices] row-major; -infinity where a choice is not allowed.
  std::vector<float> logits;
};

// Calls visit(episode, row) for each decision in its order: the index of its block, and the logits of its choices.
template <typename Visit>
void ForEachDecision(const Decisions& decisions, Visit&& visit) {
  std::span<const float> rest = decisions.logits;
  for (size_t episode = 0; episode < decisions.blocks.size(); ++episode) {
    const auto num_choices = static_cast<size_t>(decisions.blocks[episode].num_choices);
    for (int32_t i = 0; i < decisions.blocks[episode].count; ++i) {
      visit(episode, rest.first(num_choices));
      rest = rest.subspan(num_choices);
    }
  }
}

// Not thread-safe: each thread needs its own.
class Player {
 public:
  virtual ~Player() = default;

  virtual const PolicyShape& shape() const = 0;
  // For the episodes begun from now on. REQUIRES: weights.shape == shape(); no episode is being played.
  virtual void SetWeights(const PolicyWeights& weights) = 0;

  // REQUIRES: the task outlives the view, and fits the shape's number of devices.
  virtual std::unique_ptr<TaskView> View(const PlacementTask& task) const = 0;
  // start: [n] a legal placement; for a kind that is rewarded at the end alone it may be empty.
  // REQUIRES: SetWeights was called; player and view outlive the episode.
  virtual std::unique_ptr<PlayedEpisode> Begin(const TaskView& view, std::span<const uint8_t> start) = 0;

  // Fills `decisions`. The bits of an episode's logits do not depend on the other episodes of the wave.
  // REQUIRES: none of the episodes is done.
  virtual void Next(std::span<PlayedEpisode* const> episodes, Decisions& decisions) = 0;
  // Takes what was chosen for all decisions of Next, in their order, and goes on.
  virtual void Apply(std::span<PlayedEpisode* const> episodes, std::span<const uint8_t> choices) = 0;
};

}  // namespace emplace
