#include "learner/learning_state.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"
#include "learner/ranks/leading_engine.h"
#include "learner/update/evolution/evolution_updater.h"
#include "learner/update/evolution/widened_planner.h"
#include "learner/update/make_engine.h"
#include "learner/update/policy_updater.h"
#include "policy/field_sizes.h"
#include "policy/policy_kind.h"
#include "policy/policy_kinds.h"
#include "policy/policy_weights.h"
#include "policy/simd/kernel_path.h"

namespace emplace {
namespace {

PolicyWeights NewNetwork(const RunConfig& config, const Workload& workload, const Rng& rng) {
  const PolicyKind& kind = FindPolicyKind(config.policy.kind);
  PolicyWeights weights;
  weights.shape = kind.Shape(config.policy, workload.num_devices);
  weights.values = kind.InitialValues(weights.shape, config.policy, rng.Fork("weights"));
  return weights;
}

PolicyWeights LoadInitialPolicy(const RunConfig& config, const Workload& workload, const Rng& rng) {
  PolicyWeights weights = LoadPolicy(config.policy.initial);
  if (weights.shape.kind != config.policy.kind) {
    throw BadInput(StrCat(config.policy.initial, ": a policy of kind ", weights.shape.kind, ", expected ",
                          config.policy.kind, ", as policy.kind says"));
  }
  if (!weights.shape.FitsDevices(workload.num_devices)) {
    throw BadInput(StrCat(config.policy.initial, ": a policy for ", weights.shape.num_devices,
                          " devices, expected one for ", workload.num_devices, ", as many as in ",
                          config.workload.devices));
  }
  if (!config.training.evolves()) {
    weights.version = 0;
    return weights;
  }
  return WidenedPlanner(weights, NewNetwork(config, workload, rng), config.evolution.initial_share,
                        config.evolution.initial_spread);
}

std::string FamilyName(const WorkloadConfig& workload) { return workload.family.empty() ? "files" : workload.family; }

PolicyWeights InitialWeights(const RunConfig& config, const Workload& workload, const Rng& rng) {
  PolicyWeights weights =
      config.policy.initial.empty() ? NewNetwork(config, workload, rng) : LoadInitialPolicy(config, workload, rng);
  if (config.training.evolves()) {
    weights.metadata = {{"run", config.name}, {"workload", FamilyName(config.workload)}};
    return weights;
  }
  weights.metadata = {{"run", config.name},
                      {"workload", FamilyName(config.workload)},
                      {"devices", std::filesystem::path(config.workload.devices).filename().string()},
                      {"grouping.max_groups", std::to_string(config.grouping.max_groups)},
                      {"environment.start", ToString(config.environment.start)}};
  return weights;
}

std::unique_ptr<Updater> MakeUpdater(const RunConfig& config, const Workload& workload, PolicyWeights weights,
                                     RankGroup* ranks) {
  if (config.training.evolves()) return std::make_unique<EvolutionUpdater>(config, std::move(weights));
  Collective* const collective = ranks != nullptr ? &ranks->collective() : nullptr;
  std::unique_ptr<UpdateEngine> engine = MakeEngine(config.training, workload.train, weights, collective);
  if (ranks != nullptr) engine = MakeLeadingEngine(std::move(engine), ranks->leader());
  return std::make_unique<PolicyUpdater>(workload.train, config, std::move(weights), std::move(engine));
}

// nullopt: the run starts from the beginning.
std::optional<Checkpoint> CheckpointToResume(const RunConfig& config, const Workload& workload,
                                             const CheckpointStore& store) {
  std::optional<Checkpoint> checkpoint = store.LoadNewest();
  if (!checkpoint) {
    LogWarning("there is no checkpoint yet: the run starts from the beginning");
    return std::nullopt;
  }
  // One that began with a trained policy goes on without it: the file need not be there any more.
  if (config.policy.initial.empty()) {
    const PolicyKind& kind = FindPolicyKind(config.policy.kind);
    const PolicyShape shape = kind.Shape(config.policy, workload.num_devices);
    const std::string difference = FirstDifference(kind, shape, checkpoint->policy.shape);
    if (!difference.empty()) {
      throw BadInput(StrCat(store.folder().string(), ": ", difference, ", as when the run was started"));
    }
  }
  if (!checkpoint->graphs_hash.empty() && checkpoint->graphs_hash != workload.graphs_hash) {
    throw BadInput(StrCat(store.folder().string(), ": the run's graphs are no longer those that it was started with, ",
                          "expected them unchanged: what it has found and counted is of them"));
  }
  return checkpoint;
}

}  // namespace

LearningState::LearningState(const RunConfig& config, const Workload& workload, const CheckpointStore& store,
                             bool resume, RankGroup* ranks)
    : rng(config.seed) {
  std::optional<Checkpoint> checkpoint;
  if (resume) checkpoint = CheckpointToResume(config, workload, store);
  if (!checkpoint) {
    updater = MakeUpdater(config, workload, InitialWeights(config, workload, rng), ranks);
    return;
  }
  train_seconds = checkpoint->train_seconds;
  validation_history = checkpoint->validation_history;
  rng = Rng::FromState(checkpoint->rng_seed, checkpoint->rng_state);
  ledger.FromJson(checkpoint->ledger_json);
  if (checkpoint->kernel_path != ToString(BestKernelPath())) {
    LogWarning(StrCat("the run was made with the ", checkpoint->kernel_path, " kernel, this processor runs ",
                      ToString(BestKernelPath()), ": results will differ in the last bits"));
  }
  updater = MakeUpdater(config, workload, std::move(checkpoint->policy), ranks);
  updater->LoadState(checkpoint->updater);
  judged_anew = !checkpoint->conditions_hash.empty() && checkpoint->conditions_hash != workload.conditions_hash;
  if (judged_anew) {
    LogWarning("the run goes on with another machine or other evaluations: what was the best before is judged anew");
    validation_history.clear();
    updater->ForgetBest();
  }
  LogInfo(StrCat("resumed after update ", updater->weights().version));
}

}  // namespace emplace
