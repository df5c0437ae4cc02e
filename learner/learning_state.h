// What a run has learned so far: the policy with its optimizer, and what else a checkpoint holds. A new run begins with
// a new policy, or with the one that the configuration names; a resumed run goes on from its newest checkpoint.
#pragma once

#include <memory>
#include <vector>

#include "common/rng.h"
#include "learner/ledger.h"
#include "learner/ranks/rank_group.h"
#include "learner/storage/checkpoint_store.h"
#include "learner/update/updater.h"
#include "learner/workload.h"
#include "policy/config/run_config.h"

namespace emplace {

struct LearningState {
  // `ranks` is nullptr where one process computes the updates. Throws BadInput for a policy or a checkpoint that does
  // not fit the configuration. REQUIRES: workload and ranks outlive the state.
  LearningState(const RunConfig& config, const Workload& workload, const CheckpointStore& store, bool resume,
                RankGroup* ranks);

  Rng rng;
  Ledger ledger;
  std::vector<double> validation_history;  // Of earlier sittings: see Plateau::history.
  double train_seconds = 0;                // Of earlier sittings.
  // Whether earlier sittings had other conditions (Workload::conditions_hash): what they have evaluated and found the
  // best says nothing then, and is forgotten here.
  bool judged_anew = false;
  std::unique_ptr<Updater> updater;
};

}  // namespace emplace
