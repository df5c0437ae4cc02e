#include "policy/rnn/rnn_player.h"

#include <utility>

#include "common/error.h"
#include "policy/rnn/rnn_kind.h"
#include "policy/torch/group_view.h"
#include "policy/torch/sequence_network.h"

namespace emplace {
namespace {

using RnnView = GroupView<EncodedSequence>;

class RnnEpisode final : public PlayedEpisode {
 public:
  RnnEpisode(const RnnView& view, std::span<const uint8_t> start, DecoderState first)
      : view_(view), placement_(start.begin(), start.end()), state_(std::move(first)) {
    placement_.resize(static_cast<size_t>(view.groups.num_groups));
  }

  bool done() const override { return group_ == placement_.size(); }
  std::span<const uint8_t> placement() const override { return placement_; }
  const RnnView& view() const { return view_; }
  size_t group() const { return group_; }  // The group to decide now.
  DecoderState& state() { return state_; }
  void Decide(uint8_t device) { placement_[group_++] = device; }

 private:
  const RnnView& view_;
  std::vector<uint8_t> placement_;
  size_t group_ = 0;
  DecoderState state_;
};

class RnnPlayer final : public Player {
 public:
  explicit RnnPlayer(const PolicyShape& shape)
      : shape_(shape), network_(RnnSequence(shape)), parameters_(SequenceParameters(RnnSequence(shape))) {}

  const PolicyShape& shape() const override { return shape_; }

  void SetWeights(const PolicyWeights& weights) override {
    parameters_.Set(weights.values, /*with_gradient=*/false);
    ++weights_;
  }

  std::unique_ptr<TaskView> View(const PlacementTask& task) const override {
    EMPLACE_CHECK(task.groups.num_devices == shape_.num_devices);
    return std::make_unique<RnnView>(task.groups);
  }

  std::unique_ptr<PlayedEpisode> Begin(const TaskView& view, std::span<const uint8_t> start) override {
    return std::make_unique<RnnEpisode>(static_cast<const RnnView&>(view), start, network_.Start(1));
  }

  // Each episode alone, so that its bits do not depend on the others.
  void Next(std::span<PlayedEpisode* const> episodes, Decisions& decisions) override {
    const torch::NoGradGuard no_grad;
    decisions.blocks.assign(episodes.size(), {.count = 1, .num_choices = shape_.num_devices});
    decisions.logits.clear();
    for (PlayedEpisode* const episode : episodes) {
      auto* const own = static_cast<RnnEpisode*>(episode);
      const RnnView& view = own->view();
      const EncodedSequence& encoded =
          view.Get(weights_, [&] { return network_.Encode(parameters_, view.graph.nodes); });
      const size_t group = own->group();
      const int64_t before = group == 0 ? shape_.num_devices : int64_t{own->placement()[group - 1]};
      const torch::Tensor logits =
          network_.Step(parameters_, encoded, static_cast<int64_t>(group), torch::tensor({before}), own->state());
      AppendLogits(logits, view.groups.AllowedRow(group), decisions.logits);
    }
  }

  void Apply(std::span<PlayedEpisode* const> episodes, std::span<const uint8_t> choices) override {
    for (size_t e = 0; e < episodes.size(); ++e) static_cast<RnnEpisode*>(episodes[e])->Decide(choices[e]);
  }

 private:
  const PolicyShape shape_;
  const SequenceNetwork network_;
  TorchParameters parameters_;
  uint64_t weights_ = 0;  // How often weights have been set.
};

}  // namespace

std::unique_ptr<Player> MakeRnnPlayer(const PolicyShape& shape) { return std::make_unique<RnnPlayer>(shape); }

}  // namespace emplace
