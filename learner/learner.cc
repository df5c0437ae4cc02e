#include "learner/learner.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/config/run_config.h"
#include "common/error.h"
#include "common/file_io.h"
#include "common/log.h"
#include "common/policy/policy_kernel.h"
#include "common/strings.h"
#include "learner/checkpoint.h"
#include "learner/evaluation_thread.h"
#include "learner/front_end.h"
#include "learner/ledger.h"
#include "learner/metrics.h"
#include "learner/policy_updater.h"
#include "learner/progress.h"
#include "learner/workload.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr std::chrono::milliseconds kWait(100);          // Between looks at the clock and at Ctrl-C.
constexpr std::chrono::milliseconds kGoodbyes(10'000);   // For the actors to end.

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// A new run wants an empty place: its logs folder may be there already, made by the launcher.
void CheckRunDir(const LearnerOptions& options) {
  const bool has_run = fs::exists(options.run_dir / "checkpoints") || fs::exists(options.run_dir / "config.yaml");
  if (options.resume && !has_run) {
    throw BadInput(StrCat(options.run_dir.string(), ": holds no run to resume"));
  }
  if (!options.resume && has_run) {
    throw BadInput(StrCat(options.run_dir.string(), ": holds a run already; give another --dir, or --resume to go on with it"));
  }
}

RunConfig LoadConfig(const LearnerOptions& options) {
  // A resumed run keeps its own configuration, so that it is the same run; --set still changes it.
  return LoadRunConfig(options.resume ? options.run_dir / "config.yaml" : options.config, options.overrides);
}

class Run {
 public:
  Run(const LearnerOptions& options, const RunConfig& config, const std::atomic<bool>& interrupted)
      : dir_(options.run_dir),
        config_(config),
        interrupted_(interrupted),
        workload_(BuildWorkload(config, dir_ / "graphs")),
        store_(dir_ / "checkpoints", config.checkpoint.keep),
        rng_(config.seed),
        placer_{.samples = 0, .start = config.environment.start, .seed = config.seed} {
    if (options.resume) Restore();
    if (!updater_) updater_ = std::make_unique<PolicyUpdater>(workload_.train, config_, InitialWeights());
  }

  void Train();

 private:
  PolicyWeights InitialWeights() const;
  void Restore();
  void Loop(FrontEnd& front_end, EvaluationThread& evaluation, Metrics& metrics);
  std::optional<std::vector<Episode>> TakeBatch(FrontEnd& front_end, Progress& progress);
  void WriteUpdateMetrics(Metrics& metrics, const UpdateStats& stats, const std::vector<Episode>& batch,
                          const StageSeconds& stages, const FrontEndStats& front_end) const;
  void TakeReport(EvaluationThread& evaluation, Metrics& metrics);
  void WriteCheckpoint();
  void WriteResults(const FrontEnd& front_end);
  bool TimeIsUp() const;
  double TrainSeconds() const { return seconds_before_ + SecondsSince(begin_); }

  const fs::path dir_;
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
  std::optional<EvaluationReport> last_report_;
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

void Run::Restore() {
  std::optional<Checkpoint> checkpoint = store_.LoadNewest();
  if (!checkpoint) {
    LogWarning("there is no checkpoint yet: the run starts from the beginning");
    return;
  }
  const PolicyShape expected = InitialWeights().shape;
  if (!(checkpoint->policy.shape == expected)) {
    throw BadInput(StrCat((dir_ / "checkpoints").string(), ": the checkpoint's policy has another shape than the configuration asks for"));
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
  updater_ = std::make_unique<PolicyUpdater>(workload_.train, config_, std::move(checkpoint->policy));
  updater_->LoadState(checkpoint->updater);
  LogInfo(StrCat("resumed after update ", updates_));
}

bool Run::TimeIsUp() const {
  return interrupted_ || updates_ >= config_.training.iterations ||
         (config_.training.max_minutes > 0 && TrainSeconds() >= 60 * config_.training.max_minutes);
}

// B fresh episodes; what is too old is dropped and counted. nullopt: the run is over.
std::optional<std::vector<Episode>> Run::TakeBatch(FrontEnd& front_end, Progress& progress) {
  std::vector<Episode> batch;
  const auto version = static_cast<int64_t>(updater_->weights().version);
  while (std::ssize(batch) < config_.training.episodes_per_update) {
    if (TimeIsUp()) {
      for (const Episode& episode : batch) ledger_.CountStale(episode.trajectory.actor);
      return std::nullopt;
    }
    std::optional<Episode> episode = front_end.Pop(kWait);
    if (!episode) continue;
    const int64_t lag = version - static_cast<int64_t>(episode->trajectory.policy_version);
    // The newest version in flight is always admitted, however old: actors that are all slow must not starve it.
    if (lag > config_.training.max_lag && episode->trajectory.policy_version < front_end.stats().newest_version) {
      ledger_.CountStale(episode->trajectory.actor);
      continue;
    }
    progress.AddEpisode(episode->ratio, lag);
    batch.push_back(std::move(*episode));
  }
  return batch;
}

void Run::WriteUpdateMetrics(Metrics& metrics, const UpdateStats& stats, const std::vector<Episode>& batch,
                             const StageSeconds& stages, const FrontEndStats& front_end) const {
  double ratio_sum = 0;
  double best = std::nan("");
  double lag_sum = 0;
  for (const Episode& episode : batch) {
    ratio_sum += episode.ratio;
    best = std::isnan(best) ? episode.ratio : std::min(best, episode.ratio);
    lag_sum += static_cast<double>(updater_->weights().version - 1 - episode.trajectory.policy_version);
  }
  const auto count = static_cast<double>(batch.size());
  metrics.Write("update", updates_, TrainSeconds(),
                {{"loss", stats.loss},
                 {"entropy", stats.entropy},
                 {"entropy_weight", stats.entropy_weight},
                 {"learning_rate", stats.learning_rate},
                 {"gradient_norm", stats.gradient_norm},
                 {"advantage_std", stats.advantage_std},
                 {"importance", stats.mean_importance},
                 {"mean_ratio", ratio_sum / count},
                 {"best_ratio", best},
                 {"mean_lag", lag_sum / count},
                 {"episodes", static_cast<double>(front_end.episodes)},
                 {"steps", static_cast<double>(front_end.steps)},
                 {"waiting_s", stages.waiting},
                 {"updating_s", stages.updating},
                 {"other_s", stages.other}});
}

void Run::TakeReport(EvaluationThread& evaluation, Metrics& metrics) {
  std::optional<EvaluationReport> report = evaluation.Poll();
  if (!report) return;
  const double ratio = report->validation.geometric_mean_ratio;
  metrics.Write("evaluation", static_cast<int64_t>(report->weights->version), TrainSeconds(),
                {{"validation_ratio", ratio},
                 {"test_ratio", report->test.geometric_mean_ratio},
                 {"validation_infeasible", static_cast<double>(report->validation.infeasible)},
                 {"test_infeasible", static_cast<double>(report->test.infeasible)}});
  std::printf("evaluation of version %llu: makespan / one device %.4f on validation graphs, %.4f on test graphs\n",
              static_cast<unsigned long long>(report->weights->version), ratio, report->test.geometric_mean_ratio);
  std::fflush(stdout);
  if (ratio > 0 && (best_validation_ == 0 || ratio < best_validation_)) {
    best_validation_ = ratio;
    store_.WriteBest(*report->weights);
  }
  last_report_ = std::move(report);
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
  WriteFileAtomically(dir_ / "ledger.json", ledger_.Summary());
}

// Until the configuration's end, or Ctrl-C.
void Run::Loop(FrontEnd& front_end, EvaluationThread& evaluation, Metrics& metrics) {
  Progress progress(config_.training.iterations, config_.training.max_minutes, updates_, seconds_before_);
  Clock::time_point last_line = Clock::now();
  const auto report_progress = [&](double every_s) {
    if (SecondsSince(last_line) < every_s) return;
    std::printf("%s\n", progress.Line(updates_, TrainSeconds(), front_end.stats()).c_str());
    std::fflush(stdout);
    last_line = Clock::now();
  };
  Clock::time_point mark = Clock::now();
  const auto lap = [&mark] {
    const double seconds = SecondsSince(mark);
    mark = Clock::now();
    return seconds;
  };
  while (true) {
    StageSeconds stages;
    lap();
    const std::optional<std::vector<Episode>> batch = TakeBatch(front_end, progress);
    stages.waiting = lap();
    if (!batch) break;
    std::vector<Trajectory> trajectories;
    for (const Episode& episode : *batch) trajectories.push_back(episode.trajectory);
    const UpdateStats stats = updater_->Update(trajectories);
    ++updates_;
    for (const Trajectory& trajectory : trajectories) ledger_.CountTrained(trajectory.actor);
    stages.updating = lap();

    auto weights = std::make_shared<const PolicyWeights>(updater_->weights());
    front_end.Publish(weights);
    if (config_.evaluation.every > 0 && updates_ % config_.evaluation.every == 0) evaluation.Submit(weights);
    TakeReport(evaluation, metrics);
    if (updates_ % config_.checkpoint.every == 0) WriteCheckpoint();
    stages.other = lap();
    progress.AddStages(stages);
    WriteUpdateMetrics(metrics, stats, *batch, stages, front_end.stats());
    report_progress(config_.learner.progress_s);
  }
  report_progress(0);
}

void Run::Train() {
  Metrics metrics(dir_);
  const auto initial = std::make_shared<const PolicyWeights>(updater_->weights());
  FrontEnd front_end(workload_.train, config_, ledger_, initial);
  const Json address = {{"address", front_end.address()}, {"pid", ::getpid()}, {"session", std::to_string(front_end.session())}};
  WriteFileAtomically(dir_ / "learner.json", address.dump() + "\n");
  std::printf("training on %zu graphs, %zu for validation, %zu for testing; %lld parameters on %s; listening at %s\n",
              workload_.train.size(), workload_.validation.size(), workload_.test.size(),
              static_cast<long long>(updater_->weights().values.size()), updater_->device().c_str(), front_end.address().c_str());
  std::fflush(stdout);

  EvaluationThread evaluation(workload_, placer_);
  if (updates_ == 0) evaluation.Submit(initial);
  Loop(front_end, evaluation, metrics);

  std::printf("%s after %lld updates; waiting for the actors\n", interrupted_ ? "interrupted" : "training is over",
              static_cast<long long>(updates_));
  std::fflush(stdout);
  front_end.Finish(kGoodbyes);
  ledger_.Settle();
  evaluation.WaitIdle();
  TakeReport(evaluation, metrics);
  if (!last_report_ || last_report_->weights->version != updater_->weights().version) {
    evaluation.Submit(std::make_shared<const PolicyWeights>(updater_->weights()));
    while (!last_report_ || last_report_->weights->version != updater_->weights().version) {
      evaluation.WaitIdle();
      TakeReport(evaluation, metrics);
    }
  }
  WriteCheckpoint();
  WriteResults(front_end);
}

void Run::WriteResults(const FrontEnd& front_end) {
  PolicyWeights best = store_.LoadBest().value_or(updater_->weights());
  best.metadata["validation_ratio"] = ShortestDouble(best_validation_);
  best.metadata["updates"] = std::to_string(best.version);
  WriteFileAtomically(dir_ / "policy.safetensors", SerializePolicy(best));

  struct Part {
    const char* name;
    const std::vector<PlacementTask>& tasks;
  };
  Json summary = {{"updates", updates_}, {"train_seconds", TrainSeconds()}, {"episodes", front_end.stats().episodes}, {"policy_version", best.version}};
  std::printf("\nmakespan / one device (geometric mean, greedy; lower is better)\n%-12s %7s %16s %12s\n", "graphs", "count",
              "start placement", "the policy");
  for (const Part& part : {Part{"train", workload_.train}, Part{"validation", workload_.validation}, Part{"test", workload_.test}}) {
    const EvaluationResult start = EvaluateStart(part.tasks, placer_);
    const EvaluationResult final = Evaluate(best, part.tasks, placer_);
    summary[part.name] = {{"graphs", part.tasks.size()}, {"start", start.geometric_mean_ratio}, {"policy", final.geometric_mean_ratio},
                          {"infeasible", final.infeasible}};
    std::printf("%-12s %7zu %16.4f %12.4f\n", part.name, part.tasks.size(), start.geometric_mean_ratio, final.geometric_mean_ratio);
  }
  WriteFileAtomically(dir_ / "summary.json", summary.dump(1) + "\n");

  std::printf("\n%-16s %9s %9s %9s %9s %9s\n", "episodes of", "produced", "trained", "stale", "rejected", "lost");
  const auto print = [](const std::string& name, const LedgerCounts& counts) {
    std::printf("%-16s %9llu %9llu %9llu %9llu %9llu\n", name.c_str(), static_cast<unsigned long long>(counts.produced),
                static_cast<unsigned long long>(counts.trained), static_cast<unsigned long long>(counts.stale),
                static_cast<unsigned long long>(counts.rejected), static_cast<unsigned long long>(counts.lost));
  };
  for (const auto& [name, counts] : ledger_.ByActor()) print(name, counts);
  print("all", ledger_.Total());
  std::fflush(stdout);
}

}  // namespace

void RunLearner(const LearnerOptions& options, const std::atomic<bool>& interrupted) {
  CheckRunDir(options);
  const RunConfig config = LoadConfig(options);
  std::error_code error;
  fs::create_directories(options.run_dir / "logs", error);
  if (error) throw BadInput(StrCat(options.run_dir.string(), ": cannot be made: ", error.message()));
  LogToFile((options.run_dir / "logs" / "learner.log").string());
  Run run(options, config, interrupted);
  // Written once everything in it has proven good, so that a failed start leaves nothing that looks like a run.
  WriteFileAtomically(options.run_dir / "config.yaml", RunConfigToYaml(config));
  run.Train();
}

}  // namespace emplace
