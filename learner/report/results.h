// What a run came to: tables on stdout, and summary.json.
#pragma once

#include <cstdint>
#include <string>

#include "common/policy/policy_weights.h"
#include "learner/intake/front_end.h"
#include "learner/intake/ledger.h"
#include "learner/workload.h"
#include "simulator/policy_placer.h"

namespace emplace {

struct RunTotals {
  bool interrupted = false;
  std::string stopped;  // Why training was over, for people.
  int64_t updates = 0;
  double train_seconds = 0;  // Over all sittings.
  double best_found = 0;     // Of the training graphs: BestPlacements::GeometricMeanRatio.
  FrontEndStats front_end;   // Of this sitting.
};

// Holds the policy against its start placement on training, validation and test graphs: prints a table, and returns
// {"interrupted", "stopped", "updates", "train_seconds", "episodes", "duplicates", "malformed", "ignored", "cut_off",
// "refused", "policy_version", and for "train", "validation", "test": {"graphs", "start", "policy", "infeasible"}} with
// geometric means of makespan / one device, null where no graph has one; "train" has "best_found" besides: of the best
// placements that its episodes have come through.
std::string WriteResults(const PolicyWeights& policy, const Workload& workload, const PlacerOptions& placer,
                         const RunTotals& totals);

// One line an actor, one for all, and what was refused without being anybody's.
void PrintLedger(const Ledger& ledger, const FrontEndStats& front_end);

}  // namespace emplace
