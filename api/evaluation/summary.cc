#include "api/evaluation/summary.h"

#include <iterator>
#include <map>
#include <set>

#include "api/evaluation/ratios.h"
#include "api/evaluation/wins.h"

namespace emplace {
namespace {

std::map<std::string, int64_t> WinsByMethod(const std::vector<RunResult>& results, Objective objective) {
  Wins wins;
  for (const RunResult& result : results) {
    wins.Add(result.key.path, result.key.method, result.score.Us(objective), result.score.feasible);
  }
  return wins.ByMethod();
}

// All but its wins.
MethodSummary SummarizeMethod(const std::vector<RunResult>& results, const std::string& method, Objective objective) {
  MethodSummary summary;
  summary.method = method;
  std::set<std::string> graphs;
  RatiosBySeed ratios;
  for (const RunResult& result : results) {
    if (result.key.method != method) continue;
    graphs.insert(result.key.path);
    ++summary.runs;
    summary.seconds += result.seconds;
    summary.evaluations += result.evaluations;
    if (result.score.feasible) ++summary.feasible;
    ratios.Add(result.key.seed, result.score.Us(objective) / result.single_device_us);
  }
  summary.ratio = ratios.Mean();
  summary.graphs = std::ssize(graphs);
  return summary;
}

// The results with what `emplace place` hands out in the place of `policy` and `single`.
std::vector<RunResult> AsHandedOut(std::vector<RunResult> results) {
  std::erase_if(results, [](const RunResult& result) { return result.key.method == "single"; });
  for (RunResult& result : results) {
    if (result.key.method != "policy") continue;
    result.key.method = kPolicyOrSingle;
    result.score.makespan_us = result.placed_us;
    result.score.max_load_us = result.placed_us;
    result.score.feasible = result.placed_feasible;
  }
  return results;
}

}  // namespace

std::vector<MethodSummary> Summarize(const std::vector<RunResult>& results, const std::vector<std::string>& methods,
                                     Objective objective) {
  std::map<std::string, int64_t> wins = WinsByMethod(results, objective);
  std::vector<MethodSummary> summaries;
  for (const std::string& method : methods) {
    summaries.push_back(SummarizeMethod(results, method, objective));
    summaries.back().wins = wins[method];
    if (method != "policy") continue;
    const std::vector<RunResult> handed_out = AsHandedOut(results);
    summaries.push_back(SummarizeMethod(handed_out, kPolicyOrSingle, objective));
    summaries.back().wins = WinsByMethod(handed_out, objective)[kPolicyOrSingle];
  }
  return summaries;
}

}  // namespace emplace
