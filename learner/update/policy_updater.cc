#include "learner/update/policy_updater.h"

#include <cmath>
#include <utility>

#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"
#include "learner/update/objective/policy_gradient.h"
#include "learner/update/schedule.h"

namespace emplace {

PolicyUpdater::PolicyUpdater(const std::vector<PlacementTask>& tasks, const RunConfig& config, PolicyWeights initial,
                             std::unique_ptr<UpdateEngine> engine)
    : config_(config.training),
      weights_(std::move(initial)),
      engine_(std::move(engine)),
      objective_(std::make_unique<PolicyGradient>(tasks, config, weights_.shape)) {}

StepOutcome PolicyUpdater::Step(const UpdateInputs& inputs) {
  const StepOutcome outcome = engine_->Step(inputs, weights_.values);
  if (!std::isfinite(outcome.gradient_norm)) {
    LogWarning(StrCat("update ", weights_.version + 1, ": the gradient is not finite; the weights stay as they are"));
  }
  return outcome;
}

UpdateStats PolicyUpdater::Update(const std::vector<Trajectory>& batch) {
  EMPLACE_CHECK(!batch.empty());
  const PolicyVersion done = weights_.version;
  const Lesson& lesson = objective_->Prepare(batch, done);
  UpdateInputs inputs{{.episodes = lesson.episodes,
                       .samples = lesson.samples,
                       .advantages = lesson.advantages,
                       .lags = lesson.lags,
                       .gradient_clip = config_.gradient_clip,
                       .learning_rate = LinearSchedule(config_.learning_rate, config_.learning_rate_end,
                                                       config_.learning_rate_decay_updates, done)},
                      objective_->loss()};
  const StepOutcome outcome = Step(inputs);
  inputs.lags = lesson.later_lags;
  for (int64_t epoch = 1; epoch < config_.epochs; ++epoch) Step(inputs);

  objective_->Observe(done, outcome.entropy);
  ++weights_.version;
  return {.loss = outcome.loss,
          .entropy = outcome.entropy,
          .entropy_weight = lesson.entropy_weight,
          .learning_rate = inputs.learning_rate,
          .gradient_norm = outcome.gradient_norm,
          .mean_importance = outcome.mean_importance,
          .advantage_std = lesson.advantage_std,
          .states = std::ssize(lesson.samples)};
}

UpdaterState PolicyUpdater::SaveState() const { return {.adam = engine_->SaveAdam(), .objective = objective_->Save()}; }

void PolicyUpdater::LoadState(const UpdaterState& state) {
  const size_t parameters = weights_.values.size();
  if (state.adam.mean.size() != parameters || state.adam.variance.size() != parameters) {
    throw BadInput(StrCat("optimizer state of ", state.adam.mean.size(), " parameters, expected ", parameters));
  }
  if (state.adam.steps < 0) throw BadInput(StrCat("optimizer state after ", state.adam.steps, " steps"));
  objective_->Load(state.objective);
  engine_->LoadAdam(state.adam);
}

}  // namespace emplace
