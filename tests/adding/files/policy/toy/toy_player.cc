#include "policy/toy/toy_player.h"

#include <algorithm>

#include "policy/toy/toy_kind.h"

namespace emplace {
namespace {

struct ToyView final : TaskView {
  explicit ToyView(const GroupGraph& of) : groups(of) {}
  const GroupGraph& groups;
};

class ToyEpisode final : public PlayedEpisode {
 public:
  ToyEpisode(const GroupGraph& groups, std::span<const uint8_t> start)
      : groups_(groups), placement_(start.begin(), start.end()) {
    placement_.resize(static_cast<size_t>(groups.num_groups));
  }

  bool done() const override { return done_; }
  std::span<const uint8_t> placement() const override { return placement_; }
  const GroupGraph& groups() const { return groups_; }
  // Returns the choices that are left for other episodes.
  std::span<const uint8_t> Take(std::span<const uint8_t> choices) {
    std::copy_n(choices.begin(), placement_.size(), placement_.begin());
    done_ = true;
    return choices.subspan(placement_.size());
  }

 private:
  const GroupGraph& groups_;
  std::vector<uint8_t> placement_;  // [n]
  bool done_ = false;
};

ToyEpisode& OwnToyEpisode(PlayedEpisode* episode) { return static_cast<ToyEpisode&>(*episode); }

class ToyPlayer final : public Player {
 public:
  explicit ToyPlayer(const PolicyShape& shape) : shape_(shape) {}

  const PolicyShape& shape() const override { return shape_; }
  void SetWeights(const PolicyWeights& weights) override { values_ = weights.values; }

  std::unique_ptr<TaskView> View(const PlacementTask& task) const override {
    return std::make_unique<ToyView>(task.groups);
  }
  std::unique_ptr<PlayedEpisode> Begin(const TaskView& view, std::span<const uint8_t> start) override {
    return std::make_unique<ToyEpisode>(static_cast<const ToyView&>(view).groups, start);
  }

  void Next(std::span<PlayedEpisode* const> episodes, Decisions& decisions) override {
    decisions.blocks.clear();
    decisions.logits.clear();
    for (PlayedEpisode* const episode : episodes) {
      const GroupGraph& groups = OwnToyEpisode(episode).groups();
      decisions.blocks.push_back({.count = groups.num_groups, .num_choices = shape_.num_devices});
      AppendToyLogits(shape_, groups, values_, decisions.logits);
    }
  }
  void Apply(std::span<PlayedEpisode* const> episodes, std::span<const uint8_t> choices) override {
    for (PlayedEpisode* const episode : episodes) choices = OwnToyEpisode(episode).Take(choices);
  }

 private:
  const PolicyShape shape_;
  std::vector<float> values_;  // [parameters]
};

}  // namespace

std::unique_ptr<Player> MakeToyPlayer(const PolicyShape& shape) { return std::make_unique<ToyPlayer>(shape); }

}  // namespace emplace
