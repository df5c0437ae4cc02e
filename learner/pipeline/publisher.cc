#include "learner/pipeline/publisher.h"

#include <memory>
#include <utility>

#include "common/files/file_io.h"
#include "common/strings.h"
#include "policy/policy_weights.h"
#include "policy/simd/kernel_path.h"

namespace emplace {

Publisher::Publisher(const RunConfig& config, const Workload& workload, const Rng& rng, const Outputs& outputs)
    : config_(config),
      workload_(workload),
      lockstep_(config.training.lockstep()),
      rng_(rng),
      outputs_(outputs),
      last_times_(outputs.clocks.Read()) {}

bool Publisher::IsDue(PolicyVersion version) const {
  const int64_t every = config_.evaluation.every;
  return every > 0 && static_cast<int64_t>(version) % every == 0;
}

void Publisher::Begin(std::shared_ptr<const PolicyWeights> initial) {
  if (!IsDue(initial->version)) return;
  Evaluate(std::move(initial));
  TakeReport();
}

void Publisher::Evaluate(std::shared_ptr<const PolicyWeights> weights) {
  outputs_.evaluation.Submit(std::move(weights));
  if (lockstep_) outputs_.evaluation.WaitIdle();
}

void Publisher::Publish(const UpdateResult& result) {
  if (!lockstep_) outputs_.weights.Publish(result.weights);
  if (IsDue(result.weights->version)) {
    StageClock& clock = outputs_.clocks[Stage::kPublish];
    clock.Waiting();
    Evaluate(result.policy);
    clock.Busy();
  }
  TakeReport();
  if (lockstep_ && !outputs_.plateau.reason()) outputs_.weights.Publish(result.weights);
  outputs_.progress.AddBatch(result.batch_stats);
  if (HasLine(static_cast<int64_t>(result.weights->version))) WriteMetrics(result);
  if (result.snapshot) WriteCheckpoint(*result.snapshot);
}

void Publisher::WriteMetrics(const UpdateResult& result) {
  const UpdateStats& stats = result.stats;
  const BatchStats& batch = result.batch_stats;
  const FrontEndStats front_end = outputs_.front_end.stats();
  const LedgerCounts ledger = outputs_.ledger.Total();
  Scalars scalars = {{"loss", stats.loss},
                     {"entropy", stats.entropy},
                     {"entropy_weight", stats.entropy_weight},
                     {"learning_rate", stats.learning_rate},
                     {"gradient_norm", stats.gradient_norm},
                     {"advantage_std", stats.advantage_std},
                     {"importance", stats.mean_importance},
                     {metrics::kMeanRatio, batch.mean_ratio},
                     {metrics::kBestRatio, batch.best_ratio},
                     {metrics::kMinLag, static_cast<double>(batch.lag_min)},
                     {metrics::kMeanLag, batch.lag_mean},
                     {metrics::kMaxLag, static_cast<double>(batch.lag_max)},
                     {metrics::kEpisodes, static_cast<double>(front_end.episodes)},
                     {metrics::kSteps, static_cast<double>(front_end.steps)},
                     {"stale", static_cast<double>(ledger.stale)},
                     {"rejected", static_cast<double>(ledger.rejected)},
                     {"duplicates", static_cast<double>(front_end.duplicates)},
                     {"malformed", static_cast<double>(front_end.malformed)},
                     {"cut_off", static_cast<double>(front_end.cut_off)},
                     {"refused", static_cast<double>(front_end.refused)},
                     {"actors_alive", static_cast<double>(front_end.actors.alive)},
                     {"actors_gone", static_cast<double>(front_end.actors.gone)},
                     {metrics::kBlockedSeconds, front_end.blocked_s}};
  if (front_end.actors.any_measured || ledger.measured > 0) {
    scalars.emplace_back(metrics::kMeasuredEpisodes, static_cast<double>(batch.measured));
    scalars.emplace_back(metrics::kMeasuredAgain, static_cast<double>(batch.measured_again));
    scalars.emplace_back(metrics::kMeasuredRatio, batch.mean_measured_ratio);
    scalars.emplace_back(metrics::kWindowSeconds, front_end.actors.window_s);
  }
  const StageTimes times = outputs_.clocks.Read();
  const StageTimes since = times - last_times_;
  last_times_ = times;
  for (size_t i = 0; i < metrics::kStages.size(); ++i) {
    scalars.emplace_back(metrics::BusySeconds(metrics::kStages[i]), since[static_cast<Stage>(i)].busy);
  }
  outputs_.metrics.Write(metrics::kUpdate, static_cast<int64_t>(result.weights->version), outputs_.clock.seconds(),
                         scalars);
}

void Publisher::TakeReport() {
  const std::optional<EvaluationReport> report = outputs_.evaluation.Poll();
  if (!report) return;
  const double ratio = report->validation.geometric_mean_ratio;
  const PolicyVersion version = report->weights->version;
  outputs_.metrics.Write(metrics::kEvaluation, static_cast<int64_t>(version), outputs_.clock.seconds(),
                         {{metrics::kValidationRatio, ratio},
                          {metrics::kTestRatio, report->test.geometric_mean_ratio},
                          {"validation_infeasible", static_cast<double>(report->validation.infeasible)},
                          {"test_infeasible", static_cast<double>(report->test.infeasible)}});
  outputs_.out.Write(StrCat("evaluation of version ", version, ": makespan / one device ", ShownRatio(ratio), " on ",
                            report->validation_name, " graphs, ", ShownRatio(report->test.geometric_mean_ratio),
                            " on test graphs"));
  outputs_.best.Consider(*report);
  if (IsDue(version)) outputs_.plateau.Add(static_cast<int64_t>(version), ratio);
  last_evaluated_ = version;
}

void Publisher::EvaluateLast(const std::shared_ptr<const PolicyWeights>& last) {
  outputs_.evaluation.WaitIdle();
  TakeReport();
  if (last_evaluated_ != last->version) outputs_.evaluation.Submit(last);
  while (last_evaluated_ != last->version) {
    outputs_.evaluation.WaitIdle();
    TakeReport();
  }
}

void Publisher::WriteCheckpoint(const Snapshot& snapshot) {
  Checkpoint checkpoint;
  checkpoint.policy = *snapshot.weights;
  checkpoint.updater = snapshot.updater;
  checkpoint.rng_seed = rng_.seed();
  checkpoint.rng_state = rng_.state();
  checkpoint.updates = static_cast<int64_t>(snapshot.weights->version);
  checkpoint.train_seconds = snapshot.train_seconds;
  checkpoint.best_validation = outputs_.best.ratio();
  checkpoint.validation_history = outputs_.plateau.history();
  checkpoint.ledger_json = snapshot.ledger_json;
  checkpoint.kernel_path = ToString(BestKernelPath());
  checkpoint.graphs_hash = workload_.graphs_hash;
  checkpoint.conditions_hash = workload_.conditions_hash;
  checkpoint.config_yaml = RunConfigToYaml(config_);
  outputs_.write_placements();
  outputs_.store.Write(checkpoint);
  WriteFileAtomically(outputs_.dir.ledger(), outputs_.ledger.Summary());
}

}  // namespace emplace
