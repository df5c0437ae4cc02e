#include "learner/publisher.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "common/file_io.h"
#include "common/policy/simd/kernel_path.h"
#include "common/strings.h"

namespace emplace {

Publisher::Publisher(const RunConfig& config, const Rng& rng, const Places& places)
    : config_(config),
      lockstep_(config.training.lockstep()),
      rng_(rng),
      to_(places),
      last_times_(places.clocks.Read()) {}

void Publisher::Begin(std::shared_ptr<const PolicyWeights> initial) {
  Evaluate(std::move(initial));
  TakeReport();
}

void Publisher::Evaluate(std::shared_ptr<const PolicyWeights> weights) {
  to_.evaluation.Submit(std::move(weights));
  if (lockstep_) to_.evaluation.WaitIdle();
}

void Publisher::Publish(const Updated& updated) {
  if (!lockstep_) to_.front_end.Publish(updated.weights);
  const int64_t every = config_.evaluation.every;
  if (every > 0 && static_cast<int64_t>(updated.weights->version) % every == 0) Evaluate(updated.weights);
  TakeReport();
  if (lockstep_ && !to_.plateau.reason()) to_.front_end.Publish(updated.weights);
  to_.progress.AddBatch(updated.numbers);
  WriteMetrics(updated);
  if (updated.snapshot) WriteCheckpoint(*updated.snapshot);
}

void Publisher::WriteMetrics(const Updated& updated) {
  const UpdateStats& stats = updated.stats;
  const BatchNumbers& numbers = updated.numbers;
  const FrontEndStats front_end = to_.front_end.stats();
  const LedgerCounts ledger = to_.ledger.Total();
  Scalars scalars = {{"loss", stats.loss},
                     {"entropy", stats.entropy},
                     {"entropy_weight", stats.entropy_weight},
                     {"learning_rate", stats.learning_rate},
                     {"gradient_norm", stats.gradient_norm},
                     {"advantage_std", stats.advantage_std},
                     {"importance", stats.mean_importance},
                     {metrics::kMeanRatio, numbers.mean_ratio},
                     {metrics::kBestRatio, numbers.best_ratio},
                     {metrics::kMinLag, static_cast<double>(numbers.lag_min)},
                     {metrics::kMeanLag, numbers.lag_mean},
                     {metrics::kMaxLag, static_cast<double>(numbers.lag_max)},
                     {metrics::kEpisodes, static_cast<double>(front_end.episodes)},
                     {metrics::kSteps, static_cast<double>(front_end.steps)},
                     {"stale", static_cast<double>(ledger.stale)},
                     {"rejected", static_cast<double>(ledger.rejected)},
                     {"duplicates", static_cast<double>(front_end.duplicates)},
                     {"malformed", static_cast<double>(front_end.malformed)},
                     {"cut_off", static_cast<double>(front_end.cut_off)},
                     {"refused", static_cast<double>(front_end.refused)},
                     {"actors_alive", static_cast<double>(front_end.actors_alive)},
                     {"actors_gone", static_cast<double>(front_end.actors_gone)},
                     {metrics::kBlockedSeconds, front_end.blocked_s}};
  const StageTimes times = to_.clocks.Read();
  const StageTimes since = times - last_times_;
  last_times_ = times;
  for (size_t i = 0; i < metrics::kStages.size(); ++i) {
    scalars.emplace_back(metrics::BusySeconds(metrics::kStages[i]), since[static_cast<Stage>(i)].busy);
  }
  to_.metrics.Write(metrics::kUpdate, static_cast<int64_t>(updated.weights->version), to_.clock.seconds(), scalars);
}

void Publisher::TakeReport() {
  const std::optional<EvaluationReport> report = to_.evaluation.Poll();
  if (!report) return;
  const double ratio = report->validation.geometric_mean_ratio;
  const PolicyVersion version = report->weights->version;
  to_.metrics.Write(metrics::kEvaluation, static_cast<int64_t>(version), to_.clock.seconds(),
                    {{metrics::kValidationRatio, ratio},
                     {metrics::kTestRatio, report->test.geometric_mean_ratio},
                     {"validation_infeasible", static_cast<double>(report->validation.infeasible)},
                     {"test_infeasible", static_cast<double>(report->test.infeasible)}});
  std::printf("evaluation of version %llu: makespan / one device %s on validation graphs, %s on test graphs\n",
              static_cast<unsigned long long>(version), ShownRatio(ratio).c_str(),
              ShownRatio(report->test.geometric_mean_ratio).c_str());
  std::fflush(stdout);
  to_.best.Consider(*report);
  to_.plateau.Add(static_cast<int64_t>(version), ratio);
  last_evaluated_ = version;
}

void Publisher::Finish(const Snapshot& last) {
  to_.evaluation.WaitIdle();
  TakeReport();
  if (last_evaluated_ != last.weights->version) to_.evaluation.Submit(last.weights);
  while (last_evaluated_ != last.weights->version) {
    to_.evaluation.WaitIdle();
    TakeReport();
  }
  WriteCheckpoint(last);
}

void Publisher::WriteCheckpoint(const Snapshot& snapshot) {
  Checkpoint checkpoint;
  checkpoint.policy = *snapshot.weights;
  checkpoint.updater = snapshot.updater;
  checkpoint.rng_seed = rng_.seed();
  checkpoint.rng_state = rng_.state();
  checkpoint.updates = static_cast<int64_t>(snapshot.weights->version);
  checkpoint.train_seconds = snapshot.train_seconds;
  checkpoint.best_validation = to_.best.ratio();
  checkpoint.validation_history = to_.plateau.history();
  checkpoint.ledger_json = snapshot.ledger_json;
  checkpoint.kernel_path = ToString(BestKernelPath());
  checkpoint.config_yaml = RunConfigToYaml(config_);
  to_.store.Write(checkpoint);
  WriteFileAtomically(to_.dir.ledger(), to_.ledger.Summary());
}

}  // namespace emplace
