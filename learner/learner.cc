#include "learner/learner.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/log.h"
#include "common/strings.h"
#include "common/threads/line_writer.h"
#include "common/threads/pausing_work.h"
#include "learner/actors/actor_sessions.h"
#include "learner/actors/episode_dealer.h"
#include "learner/actors/weights_broadcast.h"
#include "learner/best_policy.h"
#include "learner/checkpoint_store.h"
#include "learner/evaluation/evaluation_thread.h"
#include "learner/evaluation/plateau.h"
#include "learner/front_end.h"
#include "learner/intake/batcher.h"
#include "learner/intake/best_placements.h"
#include "learner/intake/placement_files.h"
#include "learner/ledger.h"
#include "learner/pipeline.h"
#include "learner/publisher.h"
#include "learner/ranks/leading_engine.h"
#include "learner/ranks/rank_group.h"
#include "learner/report/metrics.h"
#include "learner/report/progress.h"
#include "learner/report/results.h"
#include "learner/run_clock.h"
#include "learner/run_directory.h"
#include "learner/stage_clock.h"
#include "learner/update/make_engine.h"
#include "learner/update/policy_updater.h"
#include "learner/update/update_stage.h"
#include "learner/watchdog.h"
#include "learner/workload.h"
#include "policy/config/run_config.h"
#include "policy/policy_kind.h"
#include "policy/policy_kinds.h"
#include "policy/policy_weights.h"
#include "policy/simd/kernel_path.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kSuperviseEvery(100);     // Between looks at the clock and at Ctrl-C.
constexpr double kWritePlacementsEvery_s = 1;                 // Between writes of the best placements found.
constexpr std::chrono::milliseconds kGoodbyeTimeout(10'000);  // For the actors to end.
constexpr std::chrono::milliseconds kPredecessorTimeout(
    60'000);  // For a learner that was told to stop to leave the run directory.

constexpr std::chrono::milliseconds kLastWords(2000);

// A thread that hangs cannot be joined, so nothing is cleaned up: what is on disk was written whole. Where the disk or
// the terminal is what hangs, telling so hangs as well: another thread does it, which is given a while.
[[noreturn]] void EndHungRun(const std::string& reason) {
  const auto told = std::make_shared<std::promise<void>>();
  std::thread([reason, told] {
    LogWarning(reason);
    FlushLog(kLastWords / 2);
    const std::string line = StrCat("emplace-learner: ", reason, "\n");
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    told->set_value();
  }).detach();
  told->get_future().wait_for(kLastWords);
  ::_exit(RunFailed("").exit_code());
}

class Run {
 public:
  Run(const RunDirectory& dir, const RunConfig& config, const LearnerOptions& options,
      const std::atomic<bool>& interrupted, LineWriter& out)
      : out_(out),
        dir_(dir),
        config_(config),
        interrupted_(interrupted),
        workload_(BuildWorkload(config, dir.graphs())),
        store_(dir.checkpoints(), config.checkpoint.keep),
        rng_(config.seed),
        placer_{.samples = 0, .start = config.environment.start, .seed = config.seed} {
    if (config.training.ranks > 1) {
      ranks_.emplace(
          config, dir, options.await_ranks, [this] { stages_[Stage::kUpdate].Busy(); }, updating_);
    }
    if (options.resume) Restore();
    if (!updater_) updater_ = MakeUpdater(InitialWeights());
  }

  void Train();

 private:
  PolicyWeights InitialWeights() const;
  PolicyWeights NewNetwork() const;
  PolicyWeights LoadInitialPolicy() const;
  std::unique_ptr<PolicyUpdater> MakeUpdater(PolicyWeights weights);
  void AdmitRanks();
  void Restore();
  void StartPipeline(const std::shared_ptr<const PolicyWeights>& initial);
  void Supervise();
  void ReportProgress(double every_s);
  void WritePlacements(double every_s);
  void WriteCheckpoint();
  EpisodeDealer* dealer() { return dealer_ ? &*dealer_ : nullptr; }
  bool TimeIsUp() const;
  std::string WhyOver() const;

  LineWriter& out_;  // For people.
  const RunDirectory& dir_;
  const RunConfig config_;
  const std::atomic<bool>& interrupted_;
  const Workload workload_;
  const CheckpointStore store_;
  Rng rng_;
  const PlacerOptions placer_;
  Ledger ledger_;
  StageClocks stages_;
  std::atomic<bool> measuring_ = false;  // Whether actors measure on hardware: heavy work pauses for their windows.
  PausingWork updating_{measuring_};     // Used by the update stage alone.
  std::optional<RankGroup> ranks_;       // Where there are several.
  std::unique_ptr<PolicyUpdater> updater_;
  std::vector<double> history_before_;  // Of earlier sittings: see Plateau.
  double seconds_before_ = 0;

  // While Train runs; those with threads last, so that they stop first.
  std::optional<RunClock> clock_;
  double last_line_ = 0;        // By clock_.
  double last_placements_ = 0;  // By clock_.
  StageClock main_;             // Of this thread, while it does what may hang.
  std::optional<Metrics> metrics_;
  std::optional<Progress> progress_;
  std::optional<BestPolicy> best_;
  std::optional<Plateau> plateau_;
  std::optional<BestPlacements> placements_;
  std::optional<PlacementFiles> placement_files_;
  std::optional<EpisodeDealer> dealer_;  // In lockstep.
  std::optional<ActorSessions> sessions_;
  std::optional<WeightsBroadcast> weights_;
  std::optional<TrajectoryIntake> intake_;
  std::optional<FrontEnd> front_end_;
  std::optional<EvaluationThread> evaluation_;
  std::optional<Batcher> batcher_;
  std::optional<UpdateStage> update_;
  std::optional<Publisher> publisher_;
  std::optional<Pipeline> pipeline_;
  std::optional<Watchdog> watchdog_;
};

PolicyWeights Run::NewNetwork() const {
  const PolicyKind& kind = FindPolicyKind(config_.policy.kind);
  PolicyWeights weights;
  weights.shape = kind.Shape(config_.policy, workload_.num_devices);
  weights.values = kind.InitialValues(weights.shape, config_.policy, rng_.Fork("weights"));
  return weights;
}

PolicyWeights Run::LoadInitialPolicy() const {
  PolicyWeights weights = LoadPolicy(config_.policy.initial);
  if (weights.shape.kind != config_.policy.kind) {
    throw BadInput(StrCat(config_.policy.initial, ": a policy of kind ", weights.shape.kind, ", expected ",
                          config_.policy.kind, ", as policy.kind says"));
  }
  if (weights.shape.num_devices != workload_.num_devices) {
    throw BadInput(StrCat(config_.policy.initial, ": a policy for ", weights.shape.num_devices,
                          " devices, expected one for ", workload_.num_devices, ", as many as in ",
                          config_.workload.devices));
  }
  weights.version = 0;
  return weights;
}

PolicyWeights Run::InitialWeights() const {
  PolicyWeights weights = config_.policy.initial.empty() ? NewNetwork() : LoadInitialPolicy();
  weights.metadata = {{"run", config_.name},
                      {"workload", config_.workload.family.empty() ? "files" : config_.workload.family},
                      {"devices", fs::path(config_.workload.devices).filename().string()},
                      {"grouping.max_groups", std::to_string(config_.grouping.max_groups)},
                      {"environment.start", ToString(config_.environment.start)}};
  return weights;
}

std::unique_ptr<PolicyUpdater> Run::MakeUpdater(PolicyWeights weights) {
  Collective* const collective = ranks_ ? &ranks_->collective() : nullptr;
  std::unique_ptr<UpdateEngine> engine = MakeEngine(config_.training, workload_.train, weights, collective);
  if (ranks_) engine = MakeLeadingEngine(std::move(engine), ranks_->leader());
  return std::make_unique<PolicyUpdater>(workload_.train, config_, std::move(weights), std::move(engine));
}

void Run::AdmitRanks() {
  if (!ranks_) return;
  ranks_->Admit(config_, workload_.train, {updater_->weights(), updater_->SaveState().adam}, interrupted_);
}

void Run::Restore() {
  std::optional<Checkpoint> checkpoint = store_.LoadNewest();
  if (!checkpoint) {
    LogWarning("there is no checkpoint yet: the run starts from the beginning");
    return;
  }
  // One that began with a trained policy goes on without it: the file need not be there any more.
  if (config_.policy.initial.empty() && !(checkpoint->policy.shape == NewNetwork().shape)) {
    throw BadInput(StrCat(
        dir_.checkpoints().string(),
        ": the policy has another shape than the configuration asks for, expected the shape it was started with"));
  }
  seconds_before_ = checkpoint->train_seconds;
  history_before_ = checkpoint->validation_history;
  rng_ = Rng::FromState(checkpoint->rng_seed, checkpoint->rng_state);
  ledger_.FromJson(checkpoint->ledger_json);
  if (checkpoint->kernel_path != ToString(BestKernelPath())) {
    LogWarning(StrCat("the run was made with the ", checkpoint->kernel_path, " kernel, this processor runs ",
                      ToString(BestKernelPath()), ": results will differ in the last bits"));
  }
  updater_ = MakeUpdater(std::move(checkpoint->policy));
  updater_->LoadState(checkpoint->updater);
  LogInfo(StrCat("resumed after update ", updater_->weights().version));
}

bool Run::TimeIsUp() const {
  return interrupted_ || (config_.training.max_minutes > 0 && clock_->seconds() >= 60 * config_.training.max_minutes);
}

std::string Run::WhyOver() const {
  if (interrupted_) return "interrupted";
  if (const std::optional<std::string> reason = plateau_->reason()) return *reason;
  if (update_->updates() >= config_.training.iterations)
    return StrCat("all ", config_.training.iterations, " updates are done");
  return StrCat("the time limit of ", ShortestDouble(config_.training.max_minutes), " minutes is reached");
}

void Run::ReportProgress(double every_s) {
  const double now = clock_->seconds();
  if (now - last_line_ < every_s) return;
  out_.Write(progress_->Line({update_->updates(), now, stages_.Read(), front_end_->stats(), ledger_.Total()}));
  last_line_ = now;
}

void Run::WritePlacements(double every_s) {
  const double now = clock_->seconds();
  if (now - last_placements_ < every_s) return;
  const StageWork work(main_);
  placement_files_->Write();
  last_placements_ = clock_->seconds();
}

void Run::WriteCheckpoint() {
  const StageWork work(main_);
  publisher_->WriteCheckpoint(update_->Save());
}

void Run::StartPipeline(const std::shared_ptr<const PolicyWeights>& initial) {
  const BatchPlan plan{.first = updater_->weights().version,
                       .end = static_cast<PolicyVersion>(config_.training.iterations),
                       .episodes = config_.training.episodes_per_update,
                       .max_lag = config_.training.max_lag};
  const auto source = [this](std::chrono::milliseconds timeout) { return front_end_->Pop(timeout); };
  batcher_.emplace(source, plan, ledger_, stages_[Stage::kBatch], dealer());
  update_.emplace(*updater_, config_.checkpoint.every, ledger_, *clock_);
  publisher_.emplace(config_, rng_,
                     Publisher::Outputs{.weights = *weights_,
                                        .front_end = *front_end_,
                                        .evaluation = *evaluation_,
                                        .metrics = *metrics_,
                                        .progress = *progress_,
                                        .store = store_,
                                        .best = *best_,
                                        .plateau = *plateau_,
                                        .dir = dir_,
                                        .ledger = ledger_,
                                        .clocks = stages_,
                                        .clock = *clock_,
                                        .out = out_});
  if (initial->version == 0) publisher_->Begin(initial);
  pipeline_.emplace(Pipeline::Stages{.batch = [this](const std::stop_token& stop) { return batcher_->Next(stop); },
                                     .update =
                                         [this](const Batch& batch) {
                                           const PausingWork::Unit unit(updating_);
                                           return update_->Train(batch);
                                         },
                                     .publish = [this](const UpdateResult& result) { publisher_->Publish(result); },
                                     .while_idle = [this] { publisher_->TakeReport(); },
                                     .drop = [this](const Batch& batch) { CountStale(batch, ledger_); }},
                    stages_);
  const auto progress = [this] {
    return StrCat("update ", update_->updates(), ", after ", clock_->seconds(), " s of training");
  };
  watchdog_.emplace(stages_, main_, config_.learner.watchdog_s, progress, EndHungRun);
}

// Until the configuration's end, or Ctrl-C.
void Run::Supervise() {
  while (!pipeline_->WaitUntilOver(kSuperviseEvery) && !TimeIsUp() && !plateau_->reason()) {
    ReportProgress(config_.learner.progress_s);
    WritePlacements(kWritePlacementsEvery_s);
  }
  WritePlacements(0);  // Before Stop, which throws when a stage has failed.
  pipeline_->Stop();
  ReportProgress(0);
}

void Run::Train() {
  const auto initial = std::make_shared<const PolicyWeights>(updater_->weights());
  const auto updates_before = static_cast<int64_t>(initial->version);
  clock_.emplace(seconds_before_);
  metrics_.emplace(dir_.folder(), updates_before);
  progress_.emplace(config_, updates_before, seconds_before_);
  best_.emplace(store_, workload_.takes_last);
  plateau_.emplace(Plateau::Options{.patience = config_.evaluation.patience,
                                    .min_gain = config_.evaluation.min_gain,
                                    .first_update = config_.training.entropy_decay_updates,
                                    .graphs = ValidationName(workload_.choice)},
                   history_before_);
  placements_.emplace(workload_.train, FindPolicyKind(config_.policy.kind), config_.environment, *clock_);
  placement_files_.emplace(dir_, workload_, *placements_);
  if (config_.training.lockstep()) dealer_.emplace(initial->version, config_.training.episodes_per_update);
  sessions_.emplace(workload_.train, config_, ledger_,
                    ActorSessions::Extras{.dealer = dealer(),
                                          .runnable = RunnableGraphs{workload_.train_graphs, workload_.cluster},
                                          .measuring = &measuring_});
  weights_.emplace(initial, *sessions_);
  intake_.emplace(workload_.train, config_, ledger_, *placements_, *sessions_, stages_[Stage::kCheck]);
  front_end_.emplace(config_.network, *sessions_, *weights_, *intake_, stages_[Stage::kReceive]);
  // Once everything in it has proven good, so that a failed start leaves nothing that looks like a run.
  WriteFileAtomically(dir_.config(), RunConfigToYaml(config_));
  dir_.WriteLearnerFile(front_end_->address(), sessions_->session(), ranks_ ? ranks_->address_for_others() : "");
  out_.Write(StrCat("training on ", workload_.train.size(), " graphs, ", workload_.NumValidation(), " for validation, ",
                    workload_.test.size(), " for testing; ", initial->values.size(), " parameters on ",
                    updater_->device(), ranks_ ? StrCat(" in ", config_.training.ranks, " ranks") : "",
                    "; listening at ", front_end_->address()));
  out_.Write(DescribeChoice(workload_));
  out_.Write("makespan / one device: lower is better; lag: in policy versions, min/mean/max");

  AdmitRanks();
  evaluation_.emplace(workload_, placer_, stages_[Stage::kEvaluate], measuring_);
  last_line_ = last_placements_ = clock_->seconds();
  StartPipeline(initial);
  Supervise();

  const std::string why = WhyOver();
  out_.Write(StrCat("training stops after ", update_->updates(), " updates: ", why, "; waiting for the actors"));
  // First of all: who ends the run may give it some seconds only, and goodbyes and evaluations can take longer.
  WriteCheckpoint();
  if (ranks_) ranks_->Stop();
  front_end_->Finish(kGoodbyeTimeout);
  WritePlacements(0);
  publisher_->EvaluateLast(update_->Save().weights);
  WriteCheckpoint();

  PolicyWeights best = store_.LoadBest().value_or(updater_->weights());
  best.metadata["validation_ratio"] = ShortestDouble(best_->ratio());
  best.metadata["updates"] = std::to_string(best.version);
  WriteFileAtomically(dir_.policy(), SerializePolicy(best));
  const RunTotals totals{.interrupted = interrupted_,
                         .stopped = why,
                         .updates = update_->updates(),
                         .train_seconds = clock_->seconds(),
                         .best_found = placements_->GeometricMeanRatio(),
                         .front_end = front_end_->stats()};
  WriteFileAtomically(dir_.summary(), WriteResults(best, workload_, placer_, totals, out_));
  PrintLedger(ledger_, totals.front_end, out_);
}

}  // namespace

void RunLearner(const LearnerOptions& options, const std::atomic<bool>& interrupted) {
  // Before its folder is made, so that a configuration that is refused leaves nothing behind.
  std::optional<RunConfig> config;
  if (!options.resume) config = LoadRunConfig(options.config, options.overrides);
  const RunDirectory dir(options.run_dir, options.resume, kPredecessorTimeout, interrupted);
  // A resumed run keeps its own configuration, so that it is the same run; --set still changes it.
  if (options.resume) config = LoadRunConfig(dir.config(), options.overrides);
  LogToFile(dir.log().string());
  LineWriter out(STDOUT_FILENO);
  Run run(dir, *config, options, interrupted, out);
  run.Train();
}

}  // namespace emplace
