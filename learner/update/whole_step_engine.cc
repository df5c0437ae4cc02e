#include "learner/update/whole_step_engine.h"

#include <utility>

#include "common/error.h"

namespace emplace {
namespace {

class WholeStepEngine final : public UpdateEngine {
 public:
  explicit WholeStepEngine(std::unique_ptr<WholeStep> whole) : whole_(std::move(whole)) {}

  StepOutcome Step(const UpdateInputs& inputs, std::span<float> values) override {
    const LossSpec loss = inputs.loss.spec();
    EMPLACE_CHECK(loss.kind == LossKind::kReinforce);
    return whole_->Step({inputs, /*importance_clip=*/loss.clip, loss.entropy_weight}, values);
  }
  AdamState SaveAdam() const override { return whole_->SaveAdam(); }
  void LoadAdam(const AdamState& state) override { whole_->LoadAdam(state); }
  const std::string& device() const override { return whole_->device(); }

 private:
  const std::unique_ptr<WholeStep> whole_;
};

}  // namespace

std::unique_ptr<UpdateEngine> MakeWholeStepEngine(std::unique_ptr<WholeStep> whole) {
  return std::make_unique<WholeStepEngine>(std::move(whole));
}

}  // namespace emplace
