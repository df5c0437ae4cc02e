// What the players of all kinds on LibTorch, and the episodes that they play, have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/error.h"
#include "policy/player.h"
#include "policy/torch/group_view.h"
#include "policy/torch/parameters.h"

namespace emplace {

// Computed: what the player computes of a task before the episodes on it.
template <typename Computed>
class GroupEpisode : public PlayedEpisode {
 public:
  // start: as of Player::Begin. REQUIRES: the view outlives the episode.
  GroupEpisode(const GroupView<Computed>& view, std::span<const uint8_t> start)
      : placement_(start.begin(), start.end()), view_(view) {
    placement_.resize(static_cast<size_t>(view.groups.num_groups));
  }

  std::span<const uint8_t> placement() const override { return placement_; }
  const GroupView<Computed>& view() const { return view_; }

 protected:
  std::vector<uint8_t> placement_;  // [n]

 private:
  const GroupView<Computed>& view_;
};

// Episode: a GroupEpisode<Computed> that is made of a view and a start.
template <typename Computed, typename Episode>
class GroupPlayer : public Player {
 public:
  const PolicyShape& shape() const override { return shape_; }

  void SetWeights(const PolicyWeights& weights) override {
    EMPLACE_CHECK(weights.shape == shape_);
    parameters_.Set(weights.values, /*with_gradient=*/false);
    ++weights_;
  }

  std::unique_ptr<TaskView> View(const PlacementTask& task) const override {
    EMPLACE_CHECK(task.groups.num_devices == shape_.num_devices);
    return std::make_unique<GroupView<Computed>>(task.groups);
  }

  std::unique_ptr<PlayedEpisode> Begin(const TaskView& view, std::span<const uint8_t> start) override {
    return std::make_unique<Episode>(static_cast<const GroupView<Computed>&>(view), start);
  }

 protected:
  GroupPlayer(const PolicyShape& shape, std::vector<ParameterSpec> parameters)
      : shape_(shape), parameters_(std::move(parameters)) {}

  // What compute() returned for the view and the weights at hand.
  template <typename Compute>
  const Computed& Of(const GroupView<Computed>& view, Compute&& compute) const {
    return view.Get(weights_, std::forward<Compute>(compute));
  }
  const TorchParameters& parameters() const { return parameters_; }

 private:
  const PolicyShape shape_;
  TorchParameters parameters_;
  uint64_t weights_ = 0;  // How often weights have been set.
};

}  // namespace emplace
