#include "policy/rnn/rnn_player.h"

#include <optional>

#include "policy/rnn/rnn_kind.h"
#include "policy/torch/group_player.h"
#include "policy/torch/sequence_network.h"

namespace emplace {
namespace {

using RnnView = GroupView<EncodedSequence>;

class RnnEpisode final : public GroupEpisode<EncodedSequence> {
 public:
  using GroupEpisode::GroupEpisode;

  bool done() const override { return group_ == placement_.size(); }
  size_t group() const { return group_; }  // The group to decide now.
  // Empty before the first group.
  std::optional<DecoderState>& state() { return state_; }
  void Decide(uint8_t device) { placement_[group_++] = device; }

 private:
  size_t group_ = 0;
  std::optional<DecoderState> state_;
};

class RnnPlayer final : public GroupPlayer<EncodedSequence, RnnEpisode> {
 public:
  explicit RnnPlayer(const PolicyShape& shape)
      : GroupPlayer(shape, SequenceParameters(RnnSequence(shape))), network_(RnnSequence(shape)) {}

  // Each episode alone, so that its bits do not depend on the others.
  void Next(std::span<PlayedEpisode* const> episodes, Decisions& decisions) override {
    const torch::NoGradGuard no_grad;
    decisions.blocks.assign(episodes.size(), {.count = 1, .num_choices = shape().num_devices});
    decisions.logits.clear();
    for (PlayedEpisode* const episode : episodes) {
      auto* const own = static_cast<RnnEpisode*>(episode);
      const RnnView& view = own->view();
      const EncodedSequence& encoded = Of(view, [&] { return network_.Encode(parameters(), view.graph.nodes); });
      if (!own->state()) own->state() = network_.Start(encoded, 1);
      const size_t group = own->group();
      const int64_t before = group == 0 ? shape().num_devices : int64_t{own->placement()[group - 1]};
      const torch::Tensor logits =
          network_.Step(parameters(), encoded, static_cast<int64_t>(group), torch::tensor({before}), *own->state());
      AppendLogits(logits, view.groups.AllowedRow(group), decisions.logits);
    }
  }

  void Apply(std::span<PlayedEpisode* const> episodes, std::span<const uint8_t> choices) override {
    for (size_t e = 0; e < episodes.size(); ++e) static_cast<RnnEpisode*>(episodes[e])->Decide(choices[e]);
  }

 private:
  const SequenceNetwork network_;
};

}  // namespace

std::unique_ptr<Player> MakeRnnPlayer(const PolicyShape& shape) { return std::make_unique<RnnPlayer>(shape); }

}  // namespace emplace
