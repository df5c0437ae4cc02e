#include "policy/hierarchical/hierarchical_kind.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "common/strings.h"
#include "policy/features/group_features.h"
#include "policy/hierarchical/bins.h"
#include "policy/initial_values.h"
#include "policy/torch_kind.h"

namespace emplace {
namespace {

// The keys of section `policy`.
struct HierarchicalKeys : SequenceKeys {
  int32_t grouper_hidden = 64;
  bool balanced = true;
  double output_scale = 0.1;
};

FieldTable<HierarchicalKeys> HierarchicalTable() {
  FieldTable<HierarchicalKeys> t;
  t.Field("grouper_hidden", &HierarchicalKeys::grouper_hidden)
      .Range(1, 2048)
      .Size()
      .Help("Number of floats in the hidden layer of the grouper, which gives each group a bin.");
  AddBalanced(t, "bin");
  AddSequenceFields(t);
  AddOutputScale(t);
  return t;
}

std::span<const uint8_t> BinsOf(const PlacementTask& task, const Trajectory& trajectory) {
  return std::span(trajectory.actions).first(static_cast<size_t>(task.groups.num_groups));
}

class Hierarchical final : public TorchKind<HierarchicalKeys> {
 public:
  Hierarchical() : TorchKind("hierarchical", HierarchicalTable()) {}

  RewardTime reward_time() const override { return RewardTime::kEnd; }
  int32_t MostChoices(int32_t num_devices) const override { return NumBins(num_devices); }

  std::vector<ParameterSpec> Parameters(const PolicyShape& shape) const override {
    const int64_t hidden = KeysOf(shape).grouper_hidden;
    const int64_t bins = NumBins(shape.num_devices);
    std::vector<ParameterSpec> specs;
    AddLinear("grouper.hidden", kNumGroupFeatures, hidden, specs);
    AddLinear("grouper.output", hidden, bins, specs);
    std::ranges::move(SequenceParameters(HierarchicalPlacer(shape)), std::back_inserter(specs));
    return specs;
  }

  std::vector<float> InitialValues(const PolicyShape& shape, const PolicyConfig& config, Rng rng) const override {
    return GlorotValues(Parameters(shape), KeysOf(config).output_scale, rng);
  }

  std::optional<std::string> CheckDecisions(const PlacementTask& task, const Trajectory& trajectory) const override {
    const auto n = static_cast<size_t>(task.groups.num_groups);
    if (!trajectory.start_placement.empty() || trajectory.actions.size() < n) {
      return StrCat("its arrays do not fit the ", n, " groups of graph ", trajectory.graph);
    }
    const auto bins = BinsOf(task, trajectory);
    const int32_t num_bins = NumBins(task.groups.num_devices);
    for (size_t group = 0; group < n; ++group) {
      if (bins[group] >= num_bins) {
        return StrCat("group ", group, " is in bin ", int{bins[group]}, ", there are ", num_bins);
      }
    }
    const UsedBins used(task.groups, bins);
    if (trajectory.actions.size() != n + used.size()) {
      return StrCat("it has devices for ", trajectory.actions.size() - n, " bins, expected ", used.size());
    }
    for (size_t item = 0; item < used.size(); ++item) {
      const size_t device = trajectory.actions[n + item];
      if (device >= used.num_devices || used.AllowedRow(item)[device] != 1) {
        return StrCat("bin ", int{used.bins[item]}, " is on device ", device, ", where no group of it may go");
      }
    }
    return std::nullopt;
  }

  void PlacementAt(const PlacementTask& task, const Trajectory& trajectory, size_t /*point*/,
                   std::span<uint8_t> groups) const override {
    const UsedBins used(task.groups, BinsOf(task, trajectory));
    used.Place(task.groups, std::span(trajectory.actions).last(used.size()), groups);
  }

 private:
  void CheckKeys(const HierarchicalKeys& keys) const override { CheckSequenceKeys(keys); }
};

const Hierarchical& TheHierarchical() {
  static const Hierarchical kind;
  return kind;
}

}  // namespace

int32_t NumBinFeatures(int32_t num_devices) { return kNumGroupFeatures + 1 + NumBins(num_devices); }

SequenceShape HierarchicalPlacer(const PolicyShape& shape) {
  return {TheHierarchical().KeysOf(shape), shape.num_devices, NumBinFeatures(shape.num_devices)};
}

const PolicyKind& HierarchicalKind() { return TheHierarchical(); }

}  // namespace emplace
