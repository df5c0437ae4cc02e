#include "learner/report/results.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/strings.h"
#include "learner/evaluation/evaluator.h"
#include "policy/policy_kinds.h"

namespace emplace {
namespace {

bool HasMeasured(const LedgerCounts& total, const FrontEndStats& front_end) {
  return total.measured > 0 || front_end.actors.any_measured;
}

std::string DescribeMeasured(const LedgerCounts& total) {
  const std::string counts = StrCat("\nwith measured rewards: ", total.measured, " of ", total.produced);
  if (total.measured == 0) {
    return counts +
           ", though hardware actors have joined: training ended before the first of theirs came; see docs/hardware.md";
  }
  return StrCat(counts, ", of which another actor has measured ", total.measured_again,
                " again; the others are unverified");
}

}  // namespace

std::string WriteResults(const PolicyWeights& policy, const Workload& workload, const PlacerOptions& placer,
                         const RunTotals& totals, LineWriter& out) {
  struct Part {
    const char* name;
    const std::vector<PlacementTask>& tasks;
    std::optional<double> best_found;
  };
  nlohmann::ordered_json summary = {{"interrupted", totals.interrupted},
                                    {"stopped", totals.stopped},
                                    {"updates", totals.updates},
                                    {"train_seconds", totals.train_seconds},
                                    {"episodes", totals.front_end.episodes},
                                    {"duplicates", totals.front_end.duplicates},
                                    {"malformed", totals.front_end.malformed},
                                    {"ignored", totals.front_end.ignored},
                                    {"cut_off", totals.front_end.cut_off},
                                    {"refused", totals.front_end.refused},
                                    {"policy_version", policy.version},
                                    {"rewarded", ToString(FindPolicyKind(policy.shape.kind).reward_time())}};
  if (HasMeasured(totals.ledger, totals.front_end)) {
    summary["measured"] = totals.ledger.measured;
    summary["measured_again"] = totals.ledger.measured_again;
  }
  std::string table =
      Format("\nmakespan / one device (geometric mean, greedy; lower is better)\n%-12s %7s %16s %12s %12s", "graphs",
             "count", "start placement", "the policy", "best found");
  std::string unfit;  // Lines.
  const std::vector<PlacementTask> none;
  const std::vector<PlacementTask>& validation = workload.NumValidation() > 0 ? workload.validation : none;
  for (const Part& part : {Part{"train", workload.train, totals.best_found},
                           Part{"validation", validation, std::nullopt}, Part{"test", workload.test, std::nullopt}}) {
    const EvaluationResult start = EvaluateStart(part.tasks, placer);
    const EvaluationResult placed = Evaluate(policy, part.tasks, placer);
    summary[part.name] = {{"graphs", part.tasks.size()},
                          {"start", start.geometric_mean_ratio},
                          {"policy", placed.geometric_mean_ratio},
                          {"infeasible", placed.infeasible}};
    if (part.best_found) summary[part.name]["best_found"] = *part.best_found;
    if (&part.tasks == &none) continue;
    table += Format("\n%-12s %7zu %16s %12s %12s", part.name, part.tasks.size(),
                    ShownRatio(start.geometric_mean_ratio).c_str(), ShownRatio(placed.geometric_mean_ratio).c_str(),
                    part.best_found ? ShownRatio(*part.best_found).c_str() : "");
    if (placed.infeasible > 0) {
      unfit += StrCat("\nthe policy's placement does not fit the memory: ", placed.infeasible, " of ",
                      part.tasks.size(), " ", part.name, " graphs");
    }
  }
  out.Write(table + unfit);
  return summary.dump(1) + "\n";
}

void PrintLedger(const Ledger& ledger, const FrontEndStats& front_end, LineWriter& out) {
  std::string table =
      Format("\n%-16s %9s %9s %9s %9s %9s", "episodes of", "produced", "trained", "stale", "rejected", "lost");
  const auto add = [&table](const std::string& name, const LedgerCounts& counts) {
    table +=
        Format("\n%-16s %9llu %9llu %9llu %9llu %9llu", name.c_str(), static_cast<unsigned long long>(counts.produced),
               static_cast<unsigned long long>(counts.trained), static_cast<unsigned long long>(counts.stale),
               static_cast<unsigned long long>(counts.rejected), static_cast<unsigned long long>(counts.lost));
  };
  for (const auto& [name, counts] : ledger.ByActor()) add(name, counts);
  const LedgerCounts total = ledger.Total();
  add("all", total);
  if (HasMeasured(total, front_end)) table += DescribeMeasured(total);
  if (front_end.duplicates > 0 || front_end.malformed > 0) {
    table += StrCat("\nrefused besides: ", front_end.duplicates, " duplicates, ", front_end.malformed,
                    " malformed messages");
  }
  if (front_end.cut_off > 0 || front_end.ignored > 0 || front_end.refused > 0) {
    table += StrCat("\nkept out: ", front_end.cut_off, " connections cut off, ", front_end.ignored,
                    " messages ignored, ", front_end.refused, " connections without a key that is let in");
  }
  out.Write(std::move(table));
}

}  // namespace emplace
