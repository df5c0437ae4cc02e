// The publish stage: hands on the result of each update. It sends the weights to the actors, and to the evaluation when
// one is due; it writes metrics and checkpoints, and takes in finished evaluations.
//
// In lockstep no result may depend on how long things take. So the publisher waits for each evaluation, and when the
// evaluation says that training has reached a plateau, the actors get no further weights.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "common/rng.h"
#include "common/threads/line_writer.h"
#include "learner/actors/weights_broadcast.h"
#include "learner/evaluation/evaluation_thread.h"
#include "learner/evaluation/plateau.h"
#include "learner/ledger.h"
#include "learner/pipeline/front_end.h"
#include "learner/report/metrics.h"
#include "learner/report/progress.h"
#include "learner/run_clock.h"
#include "learner/stage_clock.h"
#include "learner/storage/best_policy.h"
#include "learner/storage/checkpoint_store.h"
#include "learner/storage/run_directory.h"
#include "learner/update/update_stage.h"
#include "learner/workload.h"
#include "policy/config/run_config.h"
#include "policy/policy_weights.h"

namespace emplace {

// For one thread at a time.
class Publisher {
 public:
  // Where results go, and the sources of the other numbers in metrics and checkpoints. All outlive the publisher.
  struct Outputs {
    WeightsBroadcast& weights;
    const FrontEnd& front_end;
    EvaluationThread& evaluation;
    Metrics& metrics;
    Progress& progress;
    // Writes the best placements that episodes have found. Comes before each checkpoint: a run that goes on from it
    // plays only later episodes.
    std::function<void()> write_placements;
    const CheckpointStore& store;
    BestPolicy& best;
    Plateau& plateau;
    const RunDirectory& dir;
    const Ledger& ledger;
    StageClocks& clocks;
    const RunClock& clock;
    LineWriter& out;  // For people.
  };
  // REQUIRES: workload outlives the publisher.
  Publisher(const RunConfig& config, const Workload& workload, const Rng& rng, const Outputs& outputs);

  // Starts the evaluation of the policy that a new run begins with, if evaluations go along with the training.
  void Begin(std::shared_ptr<const PolicyWeights> initial);
  void Publish(const UpdateResult& result);
  // Takes in the report of an evaluation that has finished, if there is one.
  void TakeReport();
  // Evaluates the last policy of the run if that was not done, and waits for it. Only an evaluation that was due anyway
  // can show a plateau: a run that goes on later does so as if it had not ended here.
  void EvaluateLast(const std::shared_ptr<const PolicyWeights>& last);
  // Writes a checkpoint of this state, in the place of one of the same update.
  void WriteCheckpoint(const Snapshot& snapshot);

 private:
  bool IsDue(PolicyVersion version) const;  // Whether evaluation.every asks for its evaluation.
  void Evaluate(std::shared_ptr<const PolicyWeights> weights);
  void WriteMetrics(const UpdateResult& result);

  const RunConfig config_;
  const Workload& workload_;
  const bool lockstep_;
  const Rng rng_;
  const Outputs outputs_;
  StageTimes last_times_;  // The stages' times at the last line of metrics.
  std::optional<PolicyVersion> last_evaluated_;
};

}  // namespace emplace
