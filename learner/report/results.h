// The results of a run: tables for people, and the text of summary.json.
#pragma once

#include <cstdint>
#include <string>

#include "common/threads/line_writer.h"
#include "learner/actors/front_end_stats.h"
#include "learner/ledger.h"
#include "learner/workload.h"
#include "policy/placer/policy_placer.h"
#include "policy/policy_weights.h"

namespace emplace {

struct RunTotals {
  bool interrupted = false;
  std::string stopped;  // Why training ended, a sentence for people.
  int64_t updates = 0;
  double train_seconds = 0;  // Training time over all sittings.
  double best_found = 0;     // BestPlacements::GeometricMeanRatio of the training graphs.
  FrontEndStats front_end;   // Counts of this sitting.
  LedgerCounts ledger;       // Of all actors over all sittings.
};

// Compares the policy's placements with the start placements on the training, validation and test graphs, and prints a
// table. Returns the text of summary.json: {"interrupted", "stopped", "updates", "train_seconds", "episodes",
// "duplicates", "malformed", "ignored", "cut_off", "refused", "policy_version", "rewarded", and for each of "train",
// "validation" and "test" {"graphs", "start", "policy", "infeasible"}}. "start" and "policy" are geometric means of
// makespan / one device, null when no graph has one. "train" also has "best_found", the mean of the best placements
// found in episodes. Where actors that measure have joined, there are also "measured" and "measured_again", as in the
// ledger.
std::string WriteResults(const PolicyWeights& policy, const Workload& workload, const PlacerOptions& placer,
                         const RunTotals& totals, LineWriter& out);

// Prints the ledger: a line for each actor, one for all, and the counts of refused messages and connections.
void PrintLedger(const Ledger& ledger, const FrontEndStats& front_end, LineWriter& out);

}  // namespace emplace
