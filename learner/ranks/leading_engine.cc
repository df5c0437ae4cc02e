#include "learner/ranks/leading_engine.h"

#include <utility>

namespace emplace {
namespace {

class LeadingEngine final : public UpdateEngine {
 public:
  LeadingEngine(std::unique_ptr<UpdateEngine> engine, RankLeader& leader)
      : engine_(std::move(engine)), leader_(leader) {}

  StepOutcome Step(const UpdateInputs& inputs, std::span<float> values) override {
    leader_.SendStep(inputs, values);
    return engine_->Step(inputs, values);
  }
  AdamState SaveAdam() const override { return engine_->SaveAdam(); }
  void LoadAdam(const AdamState& state) override { engine_->LoadAdam(state); }
  const std::string& device() const override { return engine_->device(); }

 private:
  const std::unique_ptr<UpdateEngine> engine_;
  RankLeader& leader_;
};

}  // namespace

std::unique_ptr<UpdateEngine> MakeLeadingEngine(std::unique_ptr<UpdateEngine> engine, RankLeader& leader) {
  return std::make_unique<LeadingEngine>(std::move(engine), leader);
}

}  // namespace emplace
