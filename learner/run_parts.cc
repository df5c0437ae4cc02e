#include "learner/run_parts.h"

#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>

#include "learner/evaluation/evaluator.h"
#include "learner/intake/placement_episodes.h"
#include "learner/intake/trial_episodes.h"
#include "policy/policy_kinds.h"

namespace emplace {
namespace {

int64_t UpdatesOf(const LearningState& state) { return static_cast<int64_t>(state.updater->weights().version); }

Plateau::Before EvaluatedBefore(const RunConfig& config, const LearningState& state) {
  const int64_t updates = UpdatesOf(state);
  return {state.validation_history, updates - (config.evaluation.every > 0 ? updates % config.evaluation.every : 0)};
}

// None where a run is resumed that had come to its plateau.
BatchPlan PlanBatches(const RunConfig& config, const LearningState& state, const Plateau& plateau) {
  const PolicyVersion first = state.updater->weights().version;
  return {.first = first,
          .end = plateau.reason() ? first : static_cast<PolicyVersion>(config.training.iterations),
          .episodes = config.training.episodes_per_update,
          .max_lag = config.training.max_lag};
}

std::unique_ptr<const EpisodeRules> MakeRules(const RunContext& run, RunRecords& records,
                                              const WeightsBroadcast& weights) {
  if (!run.config.training.evolves()) {
    return std::make_unique<PlacementEpisodes>(run.workload.train, run.config, records.placements);
  }
  return std::make_unique<TrialEpisodes>(run.workload.train, run.config, [&weights] { return weights.newest(); });
}

}  // namespace

RunRecords::RunRecords(const RunContext& run, const LearningState& state)
    : clock(state.train_seconds),
      metrics(run.dir.folder(), UpdatesOf(state)),
      progress(run.config, UpdatesOf(state), state.train_seconds),
      best(run.store, run.workload.takes_last),
      plateau(Plateau::Options{.patience = run.config.evaluation.patience,
                               .min_gain = run.config.evaluation.min_gain,
                               .first_update = run.config.training.entropy_decay_updates,
                               .graphs = ValidationName(run.workload.choice)},
              EvaluatedBefore(run.config, state)),
      placements(run.workload.train, FindPolicyKind(run.config.policy.kind), run.config.environment, clock),
      placement_files(run.dir, run.workload, placements) {}

void RunRecords::JudgeAnew(const RunContext& run, const LearningState& state) {
  if (!state.judged_anew) return;
  best.JudgeAnew([&](const PolicyWeights& policy) { return Evaluate(policy, run.workload.validation, run.placer); });
}

ActorSide::ActorSide(const RunContext& run, LearningState& state, RunRecords& records,
                     std::shared_ptr<const PolicyWeights> initial)
    : dealer(run.config.training.lockstep()
                 ? std::make_unique<EpisodeDealer>(initial->version, run.config.training.episodes_per_update)
                 : nullptr),
      sessions(run.workload.train, run.config, state.ledger,
               {.dealer = dealer.get(),
                .runnable = RunnableGraphs{run.workload.train_graphs, run.workload.cluster},
                .measuring = &run.measuring}),
      weights(std::move(initial), sessions),
      rules(MakeRules(run, records, weights)),
      intake(*rules, run.workload.train, run.config, state.ledger, sessions, run.clocks[Stage::kCheck]),
      front_end(run.config.network, sessions, weights, intake, run.clocks) {}

TrainingStages::TrainingStages(const RunContext& run, LearningState& state, RunRecords& records, ActorSide& actors)
    : evaluation(run.workload, run.placer, run.clocks[Stage::kEvaluate], run.measuring),
      batcher([&actors](std::chrono::milliseconds timeout) { return actors.front_end.Pop(timeout); },
              PlanBatches(run.config, state, records.plateau), state.ledger, run.clocks[Stage::kBatch],
              actors.dealer.get()),
      update(*state.updater, run.config.checkpoint, state.ledger, records.clock),
      publisher(run.config, run.workload, state.rng,
                {.weights = actors.weights,
                 .front_end = actors.front_end,
                 .evaluation = evaluation,
                 .metrics = records.metrics,
                 .progress = records.progress,
                 .write_placements = [&records] { records.placement_files.Write(); },
                 .store = run.store,
                 .best = records.best,
                 .plateau = records.plateau,
                 .dir = run.dir,
                 .ledger = state.ledger,
                 .clocks = run.clocks,
                 .clock = records.clock,
                 .out = run.out}) {}

Pipeline::Stages TrainingStages::ForPipeline(const RunContext& run, LearningState& state) {
  return {.batch = [this](const std::stop_token& stop) { return batcher.Next(stop); },
          .update =
              [this, &run](const Batch& batch) {
                const PausingWork::Unit unit(run.updating);
                return update.Train(batch);
              },
          .publish = [this](const UpdateResult& result) { publisher.Publish(result); },
          .while_idle = [this] { publisher.TakeReport(); },
          .drop = [&state](const Batch& batch) { CountStale(batch, state.ledger); }};
}

}  // namespace emplace
