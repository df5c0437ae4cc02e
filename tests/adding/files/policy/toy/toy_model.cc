#include "policy/toy/toy_model.h"

#include "policy/toy/toy_kind.h"

namespace emplace {
namespace {

class ToyModel final : public Model {
 public:
  ToyModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) : shape_(shape), tasks_(tasks) {}

  const std::string& device() const override { return device_; }

  void Forward(std::span<const float> values, std::span<const Trajectory> episodes, std::span<const Sample> samples,
               Decisions& decisions) override {
    blocks_.clear();
    decisions.logits.clear();
    for (const Sample& sample : samples) {
      const GroupGraph& groups = tasks_[episodes[sample.episode].graph].groups;
      blocks_.push_back({.count = groups.num_groups, .num_choices = shape_.num_devices});
      AppendToyLogits(shape_, groups, values, decisions.logits);
    }
    decisions.blocks = blocks_;
  }

  void Backward(std::span<const float> logit_gradient, std::span<float> gradient) override {
    size_t next = 0;
    for (const DecisionBlock& block : blocks_) {
      for (size_t group = 0; group < static_cast<size_t>(block.count); ++group) {
        for (size_t device = 0; device < static_cast<size_t>(block.num_choices); ++device) {
          gradient[ToyRow(shape_, group) + device] += logit_gradient[next++];
        }
      }
    }
  }

 private:
  const std::string device_ = "cpu";
  const PolicyShape shape_;
  const std::vector<PlacementTask>& tasks_;
  std::vector<DecisionBlock> blocks_;  // Of the last Forward.
};

}  // namespace

std::unique_ptr<Model> MakeToyModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks) {
  return std::make_unique<ToyModel>(shape, tasks);
}

}  // namespace emplace
