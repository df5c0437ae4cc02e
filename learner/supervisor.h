// What the main thread does while a run trains: prints the progress line, writes the files of the best placements, and
// decides when training is over.
#pragma once

#include <atomic>
#include <string>

#include "learner/learning_state.h"
#include "learner/pipeline/pipeline.h"
#include "learner/run_parts.h"
#include "learner/stage_clock.h"

namespace emplace {

// For the main thread, except main_clock().
class Supervisor {
 public:
  // `interrupted` is set by Ctrl-C. REQUIRES: all that is handed in outlives the supervisor.
  Supervisor(const RunContext& run, const LearningState& state, RunRecords& records, const ActorSide& actors,
             TrainingStages& stages, const std::atomic<bool>& interrupted);

  // Returns when training has ended by the configuration, or by Ctrl-C, and the pipeline has stopped. Throws RunFailed
  // when a stage has failed.
  void Supervise(Pipeline& pipeline);
  // A sentence that says why training has ended. interrupted: by Ctrl-C. REQUIRES: it has.
  std::string WhyOver(bool interrupted) const;

  void WritePlacements();
  void WriteCheckpoint();

  // Busy while the main thread does what may hang. Any thread may read it.
  const StageClock& main_clock() const { return main_; }

 private:
  bool TimeIsUp() const;
  void ReportProgress();

  const RunContext& run_;
  const LearningState& state_;
  RunRecords& records_;
  const ActorSide& actors_;
  TrainingStages& stages_;
  const std::atomic<bool>& interrupted_;
  StageClock main_;
  double last_line_;        // Seconds, by the run's clock.
  double last_placements_;  // The same.
};

}  // namespace emplace
