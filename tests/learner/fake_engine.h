// A fast update engine without LibTorch, for tests in which only the order of updates and their state matter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learner/update/update_engine.h"
#include "policy/policy_weights.h"

namespace emplace {

// Each step moves every parameter by an amount that depends on the advantages and on all steps before, so that
// different histories give different parameters.
class FakeEngine final : public UpdateEngine {
 public:
  explicit FakeEngine(const PolicyWeights& initial) : adam_(InitialAdamState(initial.values.size())) {}

  StepOutcome Step(const UpdateInputs& inputs, std::span<float> values) override {
    float push = 0.1F;
    for (const float advantage : inputs.advantages) push = 0.5F * push + advantage;
    ++adam_.steps;
    for (size_t i = 0; i < values.size(); ++i) {
      adam_.mean[i] = 0.9F * adam_.mean[i] + push / static_cast<float>(i + 1);
      values[i] -= 1e-3F * adam_.mean[i];
    }
    return {.loss = 1, .entropy = 0.5, .mean_importance = 1, .gradient_norm = gradient_norm};
  }

  double gradient_norm = 2;

  AdamState SaveAdam() const override { return adam_; }
  void LoadAdam(const AdamState& state) override { adam_ = state; }
  const std::string& device() const override { return device_; }

 private:
  const std::string device_ = "cpu";
  AdamState adam_;
};

}  // namespace emplace
