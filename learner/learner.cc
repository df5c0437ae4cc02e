#include "learner/learner.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/log.h"
#include "common/strings.h"
#include "common/threads/line_writer.h"
#include "common/threads/pausing_work.h"
#include "learner/learning_state.h"
#include "learner/pipeline/pipeline.h"
#include "learner/pipeline/watchdog.h"
#include "learner/ranks/rank_group.h"
#include "learner/report/results.h"
#include "learner/run_parts.h"
#include "learner/stage_clock.h"
#include "learner/storage/checkpoint_store.h"
#include "learner/storage/run_directory.h"
#include "learner/supervisor.h"
#include "learner/workload.h"
#include "policy/config/run_config.h"
#include "policy/config/workload_config.h"
#include "policy/gaussian.h"
#include "policy/policy_kinds.h"
#include "policy/policy_weights.h"

namespace emplace {
namespace {

constexpr std::chrono::milliseconds kGoodbyeTimeout(10'000);  // For the actors to end.
// For a learner that was told to stop to leave the run directory.
constexpr std::chrono::milliseconds kPredecessorTimeout(60'000);

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

// Of what is trained: evolution's policy has a spread beside each mean.
size_t NumParameters(const PolicyWeights& weights) {
  return FindPolicyKind(weights.shape.kind).plans() ? Gaussian(weights).mean.size() : weights.values.size();
}

// Once everything in it has proven good, so that a failed start leaves nothing that looks like a run.
void AnnounceRun(const RunContext& run, const LearningState& state, const ActorSide& actors,
                 const std::string& ranks_address) {
  WriteFileAtomically(run.dir.config(), RunConfigToYaml(run.config));
  run.dir.WriteLearnerFile(actors.front_end.address(), actors.sessions.session(), ranks_address);
  const int64_t ranks = run.config.training.ranks;
  const std::string graphs = run.config.workload.endless() ? "instances" : StrCat(run.workload.train.size(), " graphs");
  run.out.Write(StrCat("training on ", graphs, ", ", run.workload.NumValidation(), " for validation, ",
                       run.workload.test.size(), " for testing; ", NumParameters(state.updater->weights()),
                       " parameters on ", state.updater->device(), ranks > 1 ? StrCat(" in ", ranks, " ranks") : "",
                       "; listening at ", actors.front_end.address()));
  run.out.Write(DescribeChoice(run.workload));
  run.out.Write("makespan / one device: lower is better; lag: in policy versions, min/mean/max");
}

// Writes the policy that the run ends with, and prints and writes how good it is.
void WriteResult(const RunContext& run, const LearningState& state, const RunRecords& records,
                 const RunTotals& totals) {
  PolicyWeights best = run.store.LoadBest().value_or(state.updater->weights());
  best.metadata["validation_ratio"] = ShortestDouble(records.best.ratio());
  best.metadata["updates"] = std::to_string(best.version);
  WriteFileAtomically(run.dir.policy(), SerializePolicy(best));
  WriteFileAtomically(run.dir.summary(), WriteResults(best, run.workload, run.placer, totals, run.out));
  PrintLedger(state.ledger, totals.front_end, run.out);
}

// Builds a run from its parts, trains, and ends it.
void Train(const RunDirectory& dir, const RunConfig& config, const LearnerOptions& options,
           const std::atomic<bool>& interrupted, LineWriter& out) {
  const Workload workload = BuildWorkload(config, dir.graphs());
  const CheckpointStore store(dir.checkpoints(), config.checkpoint.keep);
  StageClocks clocks;
  std::atomic<bool> measuring = false;
  PausingWork updating(measuring);
  const RunContext run{.config = config,
                       .dir = dir,
                       .workload = workload,
                       .store = store,
                       .placer = {.samples = 0,
                                  .start = config.environment.start,
                                  .seed = config.seed,
                                  .budget = config.evolution.evaluation_budget},
                       .clocks = clocks,
                       .measuring = measuring,
                       .updating = updating,
                       .out = out};
  std::optional<RankGroup> ranks;  // Where there are several.
  if (config.training.ranks > 1) {
    ranks.emplace(
        config, dir, options.await_ranks, [&clocks] { clocks[Stage::kUpdate].Busy(); }, updating);
  }
  LearningState state(config, workload, store, options.resume, ranks ? &*ranks : nullptr);
  const auto initial = std::make_shared<const PolicyWeights>(state.updater->weights());
  RunRecords records(run, state);
  ActorSide actors(run, state, records, initial);
  records.JudgeAnew(run, state);
  AnnounceRun(run, state, actors, ranks ? ranks->address_for_others() : "");
  if (ranks) {
    ranks->Admit(config, workload.train, {state.updater->weights(), state.updater->SaveState().adam}, interrupted);
  }
  TrainingStages stages(run, state, records, actors);
  Supervisor supervisor(run, state, records, actors, stages, interrupted);
  if (initial->version == 0) stages.publisher.Begin(initial);
  Pipeline pipeline(stages.ForPipeline(run, state), clocks);
  const auto progress = [&] {
    return StrCat("update ", stages.update.updates(), ", after ", records.clock.seconds(), " s of training");
  };
  const Watchdog watchdog(clocks, supervisor.main_clock(), config.learner.watchdog_s, progress, EndHungRun);

  supervisor.Supervise(pipeline);
  // A signal that comes during what follows interrupts a training that is over already.
  const bool was_interrupted = interrupted;
  const std::string why = supervisor.WhyOver(was_interrupted);
  records.clock.Stop();
  out.Write(StrCat("training stops after ", stages.update.updates(), " updates: ", why, "; waiting for the actors"));
  // First of all: who ends the run may give it some seconds only, and goodbyes and evaluations can take longer.
  supervisor.WriteCheckpoint();
  if (ranks) ranks->Stop();
  actors.front_end.Finish(kGoodbyeTimeout);
  supervisor.WritePlacements();
  stages.publisher.EvaluateLast(stages.update.Save().policy);
  supervisor.WriteCheckpoint();
  WriteResult(run, state, records,
              {.interrupted = was_interrupted,
               .stopped = why,
               .updates = stages.update.updates(),
               .train_seconds = records.clock.seconds(),
               .best_found = records.placements.GeometricMeanRatio(),
               .front_end = actors.front_end.stats(),
               .ledger = state.ledger.Total()});
}

// Throws BadInput for a field of the section that is no longer what it was, but for these.
template <typename Section>
void CheckKept(const char* name, const FieldTable<Section>& table, const Section& kept, const Section& asked,
               const std::string& what, const std::set<std::string>& but = {}) {
  for (const ConfigField& field : table.fields()) {
    if (but.contains(field.name) || field.get(&kept) == field.get(&asked)) continue;
    throw BadInput(StrCat("--set ", name, ".", field.name, ": a run that goes on keeps its ", what,
                          ", expected another --dir for a run with others"));
  }
}

// What a run has found and counted is by graph and group, and in the unit of its rewards.
void CheckKept(const RunConfig& kept, const RunConfig& asked) {
  CheckKept("workload", WorkloadFields(), kept.workload, asked.workload, "graphs and their groups", {"devices"});
  CheckKept("grouping", GroupingFields(), kept.grouping, asked.grouping, "graphs and their groups");
  CheckKept("environment", EnvironmentFields(), kept.environment, asked.environment, "rewards",
            {"start", "episodes_per_start"});
  if (kept.policy.initial != asked.policy.initial)
    throw BadInput("--set policy.initial: a run that goes on has its policy, expected another --dir to begin with one");
}

}  // namespace

void RunLearner(const LearnerOptions& options, const std::atomic<bool>& interrupted) {
  // Before its folder is made, so that a configuration that is refused leaves nothing behind.
  std::optional<RunConfig> config;
  if (!options.resume) config = LoadRunConfig(options.config, options.overrides);
  const RunDirectory dir(options.run_dir, options.resume, kPredecessorTimeout, interrupted);
  // A resumed run keeps its own configuration, so that it is the same run; --set still changes it.
  if (options.resume) {
    // Paths in --set start where they did at first. Those in the run's own configuration are absolute.
    const std::filesystem::path base = std::filesystem::path(options.config).parent_path();
    config = ParseRunConfig(ReadFile(dir.config()), dir.config().string(), base, options.overrides);
    CheckKept(LoadRunConfig(dir.config()), *config);
  }
  LogToFile(dir.log().string());
  LineWriter out(STDOUT_FILENO);
  Train(dir, *config, options, interrupted, out);
}

}  // namespace emplace
