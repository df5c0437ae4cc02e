// The publish stage: makes known what an update came to. Weights go to the actors first, then to the evaluation when
// one is due; metrics and checkpoints are written; finished evaluations are taken in.
//
// In lockstep nothing may depend on how long things take: an evaluation is waited for, and the actors get no weights of
// which it says that there is nothing more to gain.
#pragma once

#include <memory>
#include <optional>

#include "common/config/run_config.h"
#include "common/rng.h"
#include "learner/best_policy.h"
#include "learner/checkpoint.h"
#include "learner/evaluation/evaluation_thread.h"
#include "learner/evaluation/plateau.h"
#include "learner/intake/front_end.h"
#include "learner/intake/ledger.h"
#include "learner/report/metrics.h"
#include "learner/report/progress.h"
#include "learner/run_clock.h"
#include "learner/run_directory.h"
#include "learner/stage_clock.h"
#include "learner/update/update_stage.h"

namespace emplace {

// For one thread at a time.
class Publisher {
 public:
  // Where things go, and what is told of besides. All outlive the publisher.
  struct Outputs {
    FrontEnd& front_end;
    EvaluationThread& evaluation;
    Metrics& metrics;
    Progress& progress;
    const CheckpointStore& store;
    BestPolicy& best;
    Plateau& plateau;
    const RunDirectory& dir;
    const Ledger& ledger;
    const StageClocks& clocks;
    const RunClock& clock;
  };
  Publisher(const RunConfig& config, const Rng& rng, const Outputs& outputs);

  // Has the policy evaluated that a new run starts from.
  void Begin(std::shared_ptr<const PolicyWeights> initial);
  void Publish(const UpdateResult& result);
  // Takes in the evaluation that has finished, if one has.
  void TakeReport();
  // The end of the run: waits for an evaluation of the last weights, whatever was due, and writes the last checkpoint.
  void Finish(const Snapshot& last);

 private:
  void Evaluate(std::shared_ptr<const PolicyWeights> weights);
  void WriteMetrics(const UpdateResult& result);
  void WriteCheckpoint(const Snapshot& snapshot);

  const RunConfig config_;
  const bool lockstep_;
  const Rng rng_;
  const Outputs outputs_;
  StageTimes last_times_;  // At the update before.
  std::optional<PolicyVersion> last_evaluated_;
};

}  // namespace emplace
