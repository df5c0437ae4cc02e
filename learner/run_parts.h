// The parts of a run, in groups. A group's parts are declared in the order in which they need each other, and so are
// the groups: RunContext, LearningState (learning_state.h), RunRecords, ActorSide, TrainingStages. Threads end in
// reverse.
#pragma once

#include <atomic>
#include <memory>

#include "common/threads/line_writer.h"
#include "common/threads/pausing_work.h"
#include "learner/actors/actor_sessions.h"
#include "learner/actors/episode_dealer.h"
#include "learner/actors/weights_broadcast.h"
#include "learner/evaluation/evaluation_thread.h"
#include "learner/evaluation/plateau.h"
#include "learner/intake/batcher.h"
#include "learner/intake/best_placements.h"
#include "learner/intake/episode_rules.h"
#include "learner/intake/placement_files.h"
#include "learner/intake/trajectory_intake.h"
#include "learner/learning_state.h"
#include "learner/pipeline/front_end.h"
#include "learner/pipeline/pipeline.h"
#include "learner/pipeline/publisher.h"
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
#include "policy/placer/policy_placer.h"
#include "policy/policy_weights.h"

namespace emplace {

// What all parts of a run may use. It, and what it refers to, outlive them.
struct RunContext {
  const RunConfig& config;
  const RunDirectory& dir;
  const Workload& workload;
  const CheckpointStore& store;
  const PlacerOptions placer;  // For greedy placements.
  StageClocks& clocks;
  std::atomic<bool>& measuring;  // Whether actors measure on hardware: heavy work pauses for their windows.
  PausingWork& updating;         // Used by the update stage alone.
  LineWriter& out;               // For people.
};

// What a run writes down and judges itself by. It has no threads.
struct RunRecords {
  RunRecords(const RunContext& run, const LearningState& state);
  // Judges the best policy on another machine, where the run goes on with one. Apart from the constructor, so that a
  // start that fails changes nothing.
  void JudgeAnew(const RunContext& run, const LearningState& state);

  RunClock clock;
  Metrics metrics;
  Progress progress;
  BestPolicy best;
  Plateau plateau;
  BestPlacements placements;
  PlacementFiles placement_files;
};

// What faces the actors. It opens the ports, and has the threads that receive and check.
struct ActorSide {
  ActorSide(const RunContext& run, LearningState& state, RunRecords& records,
            std::shared_ptr<const PolicyWeights> initial);

  std::unique_ptr<EpisodeDealer> dealer;  // In lockstep; else nullptr.
  ActorSessions sessions;
  WeightsBroadcast weights;
  std::unique_ptr<const EpisodeRules> rules;
  TrajectoryIntake intake;
  FrontEnd front_end;
};

// The work of the stages behind the front end. The evaluation has a thread; a Pipeline gives the others theirs.
struct TrainingStages {
  TrainingStages(const RunContext& run, LearningState& state, RunRecords& records, ActorSide& actors);

  // The stages for a Pipeline. REQUIRES: run, state and this object outlive it.
  Pipeline::Stages ForPipeline(const RunContext& run, LearningState& state);

  EvaluationThread evaluation;
  Batcher batcher;
  UpdateStage update;
  Publisher publisher;
};

}  // namespace emplace
