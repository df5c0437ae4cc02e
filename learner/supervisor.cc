#include "learner/supervisor.h"

#include <chrono>
#include <optional>

#include "common/strings.h"

namespace emplace {
namespace {

constexpr std::chrono::milliseconds kSuperviseEvery(100);  // Between looks at the clock and at Ctrl-C.
constexpr double kWritePlacementsEvery_s = 1;              // Between writes of the best placements found.

}  // namespace

Supervisor::Supervisor(const RunContext& run, const LearningState& state, RunRecords& records, const ActorSide& actors,
                       TrainingStages& stages, const std::atomic<bool>& interrupted)
    : run_(run),
      state_(state),
      records_(records),
      actors_(actors),
      stages_(stages),
      interrupted_(interrupted),
      last_line_(records.clock.seconds()),
      last_placements_(last_line_) {}

bool Supervisor::TimeIsUp() const {
  const double max_minutes = run_.config.training.max_minutes;
  return interrupted_ || (max_minutes > 0 && records_.clock.seconds() >= 60 * max_minutes);
}

std::string Supervisor::WhyOver(bool interrupted) const {
  if (interrupted) return "interrupted";
  if (const std::optional<std::string> reason = records_.plateau.reason()) return *reason;
  const TrainingConfig& training = run_.config.training;
  if (stages_.update.updates() >= training.iterations)
    return StrCat("the ", training.iterations, " updates of training.iterations are done");
  return StrCat("the time limit of ", ShortestDouble(training.max_minutes), " minutes is reached");
}

void Supervisor::ReportProgress() {
  last_line_ = records_.clock.seconds();
  run_.out.Write(records_.progress.Line(
      {stages_.update.updates(), last_line_, run_.clocks.Read(), actors_.front_end.stats(), state_.ledger.Total()}));
}

void Supervisor::WritePlacements() {
  const StageWork work(main_);
  records_.placement_files.Write();
  last_placements_ = records_.clock.seconds();
}

void Supervisor::WriteCheckpoint() {
  const StageWork work(main_);
  stages_.publisher.WriteCheckpoint(stages_.update.Save());
}

void Supervisor::Supervise(Pipeline& pipeline) {
  while (!pipeline.WaitUntilOver(kSuperviseEvery) && !TimeIsUp() && !records_.plateau.reason()) {
    if (records_.clock.seconds() - last_line_ >= run_.config.learner.progress_s) ReportProgress();
    if (records_.clock.seconds() - last_placements_ >= kWritePlacementsEvery_s) WritePlacements();
  }
  WritePlacements();  // Before Stop, which throws when a stage has failed.
  pipeline.Stop();
  ReportProgress();
}

}  // namespace emplace
