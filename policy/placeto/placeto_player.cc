#include "policy/placeto/placeto_player.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/error.h"
#include "policy/placeto/kernel/placeto_kernel.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"
#include "policy/placeto/start_times.h"
#include "policy/policy_weights.h"

namespace emplace {
namespace {

// Caches that no episode uses now: with them an episode needs no new memory.
using SpareCaches = std::vector<EpisodeCache>;

struct PlacetoView final : TaskView {
  PlacetoView(const PlacementTask& task, const PlacetoShape& shape)
      : graph(task.groups), start_times(shape.start_times ? std::make_unique<StartTimes>(task) : nullptr) {}
  const PlacetoGraph graph;
  const std::unique_ptr<StartTimes> start_times;  // Null where they are no feature.
};

class PlacetoEpisode final : public PlayedEpisode {
 public:
  PlacetoEpisode(const PlacetoView& view, std::span<const uint8_t> start, SpareCaches& spare)
      : view_(view), placement_(start.begin(), start.end()), spare_(spare) {
    if (view.start_times != nullptr) start_times_.resize(start.size());
    if (spare.empty()) return;
    cache_ = std::move(spare.back());
    spare.pop_back();
  }
  ~PlacetoEpisode() override { spare_.push_back(std::move(cache_)); }
  PlacetoEpisode(const PlacetoEpisode&) = delete;
  PlacetoEpisode& operator=(const PlacetoEpisode&) = delete;

  bool done() const override { return step_ == view_.graph.num_nodes; }
  std::span<const uint8_t> placement() const override { return placement_; }

  // Valid until the next call.
  PlacetoState state() {
    if (view_.start_times != nullptr) view_.start_times->Of(placement_, start_times_);
    return {&view_.graph, placement_.data(), step_, start_times_.data()};
  }
  EpisodeCache& cache() { return cache_; }
  void Place(uint8_t device) { placement_[static_cast<size_t>(step_++)] = device; }

 private:
  const PlacetoView& view_;
  std::vector<uint8_t> placement_;  // [n]
  std::vector<float> start_times_;  // [n] of the state; empty where they are no feature
  int32_t step_ = 0;
  SpareCaches& spare_;
  EpisodeCache cache_;
};

PlacetoEpisode& Own(PlayedEpisode* episode) { return static_cast<PlacetoEpisode&>(*episode); }

class PlacetoPlayer final : public Player {
 public:
  explicit PlacetoPlayer(const PolicyShape& shape) : shape_(shape) {}

  const PolicyShape& shape() const override { return shape_; }

  void SetWeights(const PolicyWeights& weights) override {
    EMPLACE_CHECK(weights.shape == shape_);
    kernel_.emplace(weights);
  }

  std::unique_ptr<TaskView> View(const PlacementTask& task) const override {
    EMPLACE_CHECK(task.groups.num_devices == shape_.num_devices);
    return std::make_unique<PlacetoView>(task, own_shape_);
  }

  std::unique_ptr<PlayedEpisode> Begin(const TaskView& view, std::span<const uint8_t> start) override {
    return std::make_unique<PlacetoEpisode>(static_cast<const PlacetoView&>(view), start, spare_);
  }

  void Next(std::span<PlayedEpisode* const> episodes, Decisions& decisions) override {
    states_.clear();
    caches_.clear();
    for (PlayedEpisode* const episode : episodes) {
      states_.push_back(Own(episode).state());
      caches_.push_back(&Own(episode).cache());
    }
    decisions.blocks.assign(episodes.size(), {.count = 1, .num_choices = shape_.num_devices});
    decisions.logits.resize(episodes.size() * static_cast<size_t>(shape_.num_devices));
    kernel_->Forward(states_, caches_, decisions.logits);
  }

  void Apply(std::span<PlayedEpisode* const> episodes, std::span<const uint8_t> choices) override {
    EMPLACE_CHECK(choices.size() == episodes.size());
    for (size_t e = 0; e < episodes.size(); ++e) Own(episodes[e]).Place(choices[e]);
  }

 private:
  const PolicyShape shape_;
  const PlacetoShape own_shape_{PlacetoShape::Of(shape_)};
  std::optional<PlacetoKernel> kernel_;
  SpareCaches spare_;
  std::vector<PlacetoState> states_;   // Scratch of Next, as is the following.
  std::vector<EpisodeCache*> caches_;  // [states_]
};

}  // namespace

std::unique_ptr<Player> MakePlacetoPlayer(const PolicyShape& shape) { return std::make_unique<PlacetoPlayer>(shape); }

}  // namespace emplace
