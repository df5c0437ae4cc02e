#include "learner/learner.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/config/run_config.h"
#include "common/error.h"
#include "common/file_io.h"
#include "common/log.h"
#include "common/policy/kernel/policy_kernel.h"
#include "common/strings.h"
#include "learner/checkpoint.h"
#include "learner/episode_batch.h"
#include "learner/evaluation_thread.h"
#include "learner/front_end.h"
#include "learner/ledger.h"
#include "learner/make_engine.h"
#include "learner/metrics.h"
#include "learner/policy_updater.h"
#include "learner/progress.h"
#include "learner/results.h"
#include "learner/run_directory.h"
#include "learner/workload.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWait(100);          // Between looks at the clock and at Ctrl-C.
constexpr std::chrono::milliseconds kGoodbyes(10'000);   // For the actors to end.
constexpr std::chrono::milliseconds kPredecessor(60'000);  // For a learner that was told to stop to leave the run directory.

// In the metadata of the best policy: how many of its validation placements do not fit in memory.
constexpr const char* kInfeasibleKey = "validation_infeasible";

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Run {
 public:
  Run(const RunDirectory& dir, const RunConfig& config, bool resume, const std::atomic<bool>& interrupted)
      : dir_(dir),
        config_(config),
        interrupted_(interrupted),
        workload_(BuildWorkload(config, dir.graphs())),
        store_(dir.checkpoints(), config.checkpoint.keep),
        rng_(config.seed),
        placer_{.samples = 0, .start = config.environment.start, .seed = config.seed} {
    if (resume) Restore();
    if (!updater_) updater_ = MakeUpdater(InitialWeights());
  }

  void Train();

 private:
  PolicyWeights InitialWeights() const;
  std::unique_ptr<PolicyUpdater> MakeUpdater(PolicyWeights weights) const;
  void Restore();
  void Loop();
  std::optional<std::vector<Episode>> TakeBatch();
  void ReportProgress(double every_s);
  void WriteUpdateMetrics(const UpdateStats& stats, const BatchNumbers& numbers, const StageSeconds& stages);
  void TakeReport();
  void EvaluateLast();
  void WriteCheckpoint();
  bool TimeIsUp() const;
  double TrainSeconds() const { return seconds_before_ + SecondsSince(begin_); }

  const RunDirectory& dir_;
  const RunConfig config_;
  const std::atomic<bool>& interrupted_;
  const Workload workload_;
  const CheckpointStore store_;
  Rng rng_;
  const PlacerOptions placer_;
  Ledger ledger_;
  std::unique_ptr<PolicyUpdater> updater_;
  int64_t updates_ = 0;
  double seconds_before_ = 0;                          // Of earlier sittings.
  Clock::time_point begin_ = Clock::now();
  double best_validation_ = 0;                         // 0: none yet.
  int64_t best_infeasible_ = 0;                        // Validation placements of the best that do not fit in memory.
  std::optional<EvaluationReport> last_report_;

  // While Train runs; those with threads last, so that they stop first.
  std::optional<Metrics> metrics_;
  std::optional<Progress> progress_;
  StageClock clock_;
  double last_line_ = 0;                               // TrainSeconds.
  std::optional<FrontEnd> front_end_;
  std::optional<EvaluationThread> evaluation_;
};

PolicyWeights Run::InitialWeights() const {
  PolicyShape shape;
  shape.num_devices = workload_.num_devices;
  shape.memory_feature = config_.policy.memory_feature;
  shape.message_rounds = static_cast<int32_t>(config_.policy.message_rounds);
  shape.message_width = static_cast<int32_t>(config_.policy.message_width);
  PolicyWeights weights = PolicyWeights::Initial(shape, rng_.Fork("weights"));
  weights.metadata = {{"run", config_.name},
                      {"workload", config_.workload.family.empty() ? "files" : config_.workload.family},
                      {"devices", fs::path(config_.workload.devices).filename().string()},
                      {"grouping.max_groups", std::to_string(config_.grouping.max_groups)},
                      {"environment.start", config_.environment.start}};
  return weights;
}

std::unique_ptr<PolicyUpdater> Run::MakeUpdater(PolicyWeights weights) const {
  std::unique_ptr<UpdateEngine> engine = MakeEngine(config_.training.device, workload_.train, weights);
  return std::make_unique<PolicyUpdater>(workload_.train, config_, std::move(weights), std::move(engine));
}

void Run::Restore() {
  std::optional<Checkpoint> checkpoint = store_.LoadNewest();
  if (!checkpoint) {
    LogWarning("there is no checkpoint yet: the run starts from the beginning");
    return;
  }
  const PolicyShape expected = InitialWeights().shape;
  if (!(checkpoint->policy.shape == expected)) {
    throw BadInput(StrCat(dir_.checkpoints().string(), ": the policy has another shape than the configuration asks for, expected the shape it was started with"));
  }
  updates_ = checkpoint->updates;
  seconds_before_ = checkpoint->train_seconds;
  best_validation_ = checkpoint->best_validation;
  rng_ = Rng::FromState(checkpoint->rng_seed, checkpoint->rng_state);
  ledger_.FromJson(checkpoint->ledger_json);
  if (checkpoint->kernel_path != ToString(BestKernelPath())) {
    LogWarning(StrCat("the run was made with the ", checkpoint->kernel_path, " kernel, this processor runs ",
                      ToString(BestKernelPath()), ": results will differ in the last bits"));
  }
  if (const std::optional<PolicyWeights> best = store_.LoadBest()) {
    const auto infeasible = best->metadata.find(kInfeasibleKey);
    if (infeasible != best->metadata.end()) best_infeasible_ = std::atoll(infeasible->second.c_str());
  }
  updater_ = MakeUpdater(std::move(checkpoint->policy));
  updater_->LoadState(checkpoint->updater);
  LogInfo(StrCat("resumed after update ", updates_));
}

bool Run::TimeIsUp() const {
  return interrupted_ || updates_ >= config_.training.iterations ||
         (config_.training.max_minutes > 0 && TrainSeconds() >= 60 * config_.training.max_minutes);
}

// B fresh episodes; what is too old is dropped and counted. nullopt: the run is over.
std::optional<std::vector<Episode>> Run::TakeBatch() {
  std::vector<Episode> batch;
  const PolicyVersion version = updater_->weights().version;
  while (std::ssize(batch) < config_.training.episodes_per_update) {
    if (TimeIsUp()) {
      for (const Episode& episode : batch) ledger_.CountStale(episode.trajectory.actor);
      return std::nullopt;
    }
    std::optional<Episode> episode = front_end_->Pop(kWait);
    clock_.Spent(&StageSeconds::waiting);
    ReportProgress(config_.learner.progress_s);
    if (!episode) {
      TakeReport();  // Without actors there may be no update to do it after.
      continue;
    }
    const Trajectory& trajectory = episode->trajectory;
    if (IsStale(version, trajectory.policy_version, front_end_->stats().newest_version, config_.training.max_lag)) {
      ledger_.CountStale(trajectory.actor);
      continue;
    }
    batch.push_back(*std::move(episode));
  }
  return batch;
}

void Run::ReportProgress(double every_s) {
  const double now = TrainSeconds();
  if (now - last_line_ < every_s) return;
  std::printf("%s\n", progress_->Line({updates_, now, clock_.total(), front_end_->stats(), ledger_.Total()}).c_str());
  std::fflush(stdout);
  last_line_ = now;
}

void Run::WriteUpdateMetrics(const UpdateStats& stats, const BatchNumbers& numbers, const StageSeconds& stages) {
  const FrontEndStats front_end = front_end_->stats();
  const LedgerCounts ledger = ledger_.Total();
  metrics_->Write("update", updates_, TrainSeconds(),
                  {{"loss", stats.loss},
                   {"entropy", stats.entropy},
                   {"entropy_weight", stats.entropy_weight},
                   {"learning_rate", stats.learning_rate},
                   {"gradient_norm", stats.gradient_norm},
                   {"advantage_std", stats.advantage_std},
                   {"importance", stats.mean_importance},
                   {"mean_ratio", numbers.mean_ratio},
                   {"best_ratio", numbers.best_ratio},
                   {"min_lag", static_cast<double>(numbers.lag_min)},
                   {"mean_lag", numbers.lag_mean},
                   {"max_lag", static_cast<double>(numbers.lag_max)},
                   {"episodes", static_cast<double>(front_end.episodes)},
                   {"steps", static_cast<double>(front_end.steps)},
                   {"stale", static_cast<double>(ledger.stale)},
                   {"rejected", static_cast<double>(ledger.rejected)},
                   {"duplicates", static_cast<double>(front_end.duplicates)},
                   {"malformed", static_cast<double>(front_end.malformed)},
                   {"actors_alive", static_cast<double>(front_end.actors_alive)},
                   {"actors_gone", static_cast<double>(front_end.actors_gone)},
                   {"blocked_s", front_end.blocked_s},
                   {"waiting_s", stages.waiting},
                   {"updating_s", stages.updating},
                   {"other_s", stages.other}});
}

void Run::TakeReport() {
  std::optional<EvaluationReport> report = evaluation_->Poll();
  if (!report) return;
  const double ratio = report->validation.geometric_mean_ratio;
  const int64_t infeasible = report->validation.infeasible;
  metrics_->Write("evaluation", static_cast<int64_t>(report->weights->version), TrainSeconds(),
                  {{"validation_ratio", ratio},
                   {"test_ratio", report->test.geometric_mean_ratio},
                   {"validation_infeasible", static_cast<double>(infeasible)},
                   {"test_infeasible", static_cast<double>(report->test.infeasible)}});
  std::printf("evaluation of version %llu: makespan / one device %s on validation graphs, %s on test graphs\n",
              static_cast<unsigned long long>(report->weights->version), ShownRatio(ratio).c_str(),
              ShownRatio(report->test.geometric_mean_ratio).c_str());
  std::fflush(stdout);
  // What does not fit in memory is of no use, however fast it would be.
  if (ratio > 0 && (best_validation_ == 0 || std::pair(infeasible, ratio) < std::pair(best_infeasible_, best_validation_))) {
    best_validation_ = ratio;
    best_infeasible_ = infeasible;
    PolicyWeights best = *report->weights;
    best.metadata[kInfeasibleKey] = std::to_string(infeasible);
    store_.WriteBest(best);
  }
  last_report_ = std::move(report);
}

// The weights at the end have a report of their own, whatever was due.
void Run::EvaluateLast() {
  const PolicyVersion version = updater_->weights().version;
  evaluation_->WaitIdle();
  TakeReport();
  if (last_report_ && last_report_->weights->version == version) return;
  evaluation_->Submit(std::make_shared<const PolicyWeights>(updater_->weights()));
  while (!last_report_ || last_report_->weights->version != version) {
    evaluation_->WaitIdle();
    TakeReport();
  }
}

void Run::WriteCheckpoint() {
  Checkpoint checkpoint;
  checkpoint.policy = updater_->weights();
  checkpoint.updater = updater_->SaveState();
  checkpoint.rng_seed = rng_.seed();
  checkpoint.rng_state = rng_.state();
  checkpoint.updates = updates_;
  checkpoint.train_seconds = TrainSeconds();
  checkpoint.best_validation = best_validation_;
  checkpoint.ledger_json = ledger_.ToJson();
  checkpoint.kernel_path = ToString(BestKernelPath());
  checkpoint.config_yaml = RunConfigToYaml(config_);
  store_.Write(checkpoint);
  WriteFileAtomically(dir_.ledger(), ledger_.Summary());
}

// Until the configuration's end, or Ctrl-C.
void Run::Loop() {
  while (true) {
    const StageSeconds before = clock_.total();
    const std::optional<std::vector<Episode>> batch = TakeBatch();
    if (!batch) break;
    const BatchNumbers numbers = NumbersOf(*batch, updater_->weights().version);
    std::vector<Trajectory> trajectories;
    for (const Episode& episode : *batch) trajectories.push_back(episode.trajectory);
    const UpdateStats stats = updater_->Update(trajectories);
    ++updates_;
    for (const Trajectory& trajectory : trajectories) ledger_.CountTrained(trajectory.actor);
    clock_.Spent(&StageSeconds::updating);

    auto weights = std::make_shared<const PolicyWeights>(updater_->weights());
    front_end_->Publish(weights);
    if (config_.evaluation.every > 0 && updates_ % config_.evaluation.every == 0) evaluation_->Submit(weights);
    TakeReport();
    if (updates_ % config_.checkpoint.every == 0) WriteCheckpoint();
    clock_.Spent(&StageSeconds::other);
    progress_->AddBatch(numbers);
    WriteUpdateMetrics(stats, numbers, clock_.total() - before);
    ReportProgress(config_.learner.progress_s);
  }
  ReportProgress(0);
}

void Run::Train() {
  metrics_.emplace(dir_.folder(), updates_);
  progress_.emplace(config_, updates_, seconds_before_);
  const auto initial = std::make_shared<const PolicyWeights>(updater_->weights());
  front_end_.emplace(workload_.train, config_, ledger_, initial);
  dir_.WriteLearnerFile(front_end_->address(), front_end_->session());
  std::printf("training on %zu graphs, %zu for validation, %zu for testing; %lld parameters on %s; listening at %s\n",
              workload_.train.size(), workload_.validation.size(), workload_.test.size(),
              static_cast<long long>(updater_->weights().values.size()), updater_->device().c_str(), front_end_->address().c_str());
  std::printf("makespan / one device: lower is better; lag: in policy versions, min/mean/max\n");
  std::fflush(stdout);

  evaluation_.emplace(workload_, placer_);
  if (updates_ == 0) evaluation_->Submit(initial);
  last_line_ = TrainSeconds();
  clock_.Spent(&StageSeconds::other);
  Loop();

  std::printf("%s after %lld updates; waiting for the actors\n", interrupted_ ? "interrupted" : "training is over",
              static_cast<long long>(updates_));
  std::fflush(stdout);
  front_end_->Finish(kGoodbyes);
  EvaluateLast();
  WriteCheckpoint();

  PolicyWeights best = store_.LoadBest().value_or(updater_->weights());
  best.metadata["validation_ratio"] = ShortestDouble(best_validation_);
  best.metadata["updates"] = std::to_string(best.version);
  WriteFileAtomically(dir_.policy(), SerializePolicy(best));
  const RunTotals totals{.interrupted = interrupted_, .updates = updates_, .train_seconds = TrainSeconds(), .front_end = front_end_->stats()};
  WriteFileAtomically(dir_.summary(), WriteResults(best, workload_, placer_, totals));
  PrintLedger(ledger_, totals.front_end);
}

}  // namespace

void RunLearner(const LearnerOptions& options, const std::atomic<bool>& interrupted) {
  const RunDirectory dir(options.run_dir, options.resume, kPredecessor, interrupted);
  // A resumed run keeps its own configuration, so that it is the same run; --set still changes it.
  const RunConfig config = LoadRunConfig(options.resume ? dir.config() : options.config, options.overrides);
  LogToFile(dir.log().string());
  Run run(dir, config, options.resume, interrupted);
  // Written once everything in it has proven good, so that a failed start leaves nothing that looks like a run.
  WriteFileAtomically(dir.config(), RunConfigToYaml(config));
  run.Train();
}

}  // namespace emplace
