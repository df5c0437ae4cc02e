#include "policy/hierarchical/hierarchical_player.h"

#include <limits>
#include <optional>
#include <utility>

#include "policy/hierarchical/hierarchical_kind.h"
#include "policy/hierarchical/hierarchical_network.h"
#include "policy/torch/group_player.h"
#include "policy/torch/sequence_network.h"

namespace emplace {
namespace {

using HierarchicalView = GroupView<std::vector<float>>;  // The grouper's logits [n * NumBins].

// What the placer is at.
struct Placing {
  UsedBins bins;
  EncodedSequence encoded;
  DecoderState state;
  std::vector<uint8_t> devices;  // Of the bins decided so far.
};

class HierarchicalEpisode final : public GroupEpisode<std::vector<float>> {
 public:
  using GroupEpisode::GroupEpisode;

  bool done() const override { return placing_ && placing_->devices.size() == placing_->bins.size(); }
  std::optional<Placing>& placing() { return placing_; }  // nullopt: the groups have no bins yet.
  void Decide(uint8_t device) {
    placing_->devices.push_back(device);
    if (done()) placing_->bins.Place(view().groups, placing_->devices, placement_);
  }

 private:
  std::optional<Placing> placing_;
};

class HierarchicalPlayer final : public GroupPlayer<std::vector<float>, HierarchicalEpisode> {
 public:
  explicit HierarchicalPlayer(const PolicyShape& shape)
      : GroupPlayer(shape, HierarchicalKind().Parameters(shape)),
        num_bins_(NumBins(shape.num_devices)),
        placer_(HierarchicalPlacer(shape)) {}

  void Next(std::span<PlayedEpisode* const> episodes, Decisions& decisions) override {
    const torch::NoGradGuard no_grad;
    decisions.blocks.clear();
    decisions.logits.clear();
    for (PlayedEpisode* const episode : episodes) {
      auto* const own = static_cast<HierarchicalEpisode*>(episode);
      const int32_t count = own->placing() ? 1 : own->view().groups.num_groups;
      decisions.blocks.push_back({.count = count, .num_choices = num_bins_});
      if (own->placing()) {
        AppendDevice(*own->placing(), decisions.logits);
      } else {
        AppendBins(own->view(), decisions.logits);
      }
    }
  }

  void Apply(std::span<PlayedEpisode* const> episodes, std::span<const uint8_t> choices) override {
    const torch::NoGradGuard no_grad;
    for (PlayedEpisode* const episode : episodes) {
      auto* const own = static_cast<HierarchicalEpisode*>(episode);
      const HierarchicalView& view = own->view();
      if (own->placing()) {
        own->Decide(choices.front());
        choices = choices.subspan(1);
        continue;
      }
      const auto n = static_cast<size_t>(view.groups.num_groups);
      UsedBins bins(view.groups, choices.first(n));
      EncodedSequence encoded = placer_.Encode(parameters(), BinFeatures(view.graph, bins));
      DecoderState state = placer_.Start(encoded, 1);
      own->placing() = Placing{std::move(bins), std::move(encoded), std::move(state), {}};
      choices = choices.subspan(n);
    }
  }

 private:
  void AppendBins(const HierarchicalView& view, std::vector<float>& logits) const {
    const std::vector<float>& bins = Of(view, [&] {
      std::vector<float> values;
      AppendLogits(BinLogits(parameters(), view.graph), values);
      return values;
    });
    logits.insert(logits.end(), bins.begin(), bins.end());
  }

  // Each episode alone, so that its bits do not depend on the others.
  void AppendDevice(Placing& placing, std::vector<float>& logits) const {
    const size_t item = placing.devices.size();
    const int64_t before = item == 0 ? shape().num_devices : int64_t{placing.devices.back()};
    const torch::Tensor row =
        placer_.Step(parameters(), placing.encoded, static_cast<int64_t>(item), torch::tensor({before}), placing.state);
    AppendLogits(row, placing.bins.AllowedRow(item), logits);
    logits.resize(logits.size() + static_cast<size_t>(num_bins_ - shape().num_devices),
                  -std::numeric_limits<float>::infinity());
  }

  const int32_t num_bins_;
  const SequenceNetwork placer_;
};

}  // namespace

std::unique_ptr<Player> MakeHierarchicalPlayer(const PolicyShape& shape) {
  return std::make_unique<HierarchicalPlayer>(shape);
}

}  // namespace emplace
