#include "tools/evaluation/summary.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "tools/evaluation/wins.h"

namespace emplace {
std::vector<MethodSummary> Summarize(const std::vector<RunResult>& results, const std::vector<std::string>& methods) {
  Wins wins;
  std::map<std::string, std::set<std::string>> graphs_of;  // Method -> paths.
  for (const RunResult& result : results) {
    wins.Add(result.key.path, result.key.method, result.score.makespan_us, result.score.feasible);
    graphs_of[result.key.method].insert(result.key.path);
  }
  std::map<std::string, int64_t> wins_of = wins.ByMethod();

  std::vector<MethodSummary> summaries;
  for (const std::string& method : methods) {
    MethodSummary summary;
    summary.method = method;
    std::map<uint64_t, std::pair<double, int64_t>> log_ratios;  // Seed -> sum, count.
    for (const RunResult& result : results) {
      if (result.key.method != method) continue;
      ++summary.runs;
      summary.seconds += result.seconds;
      summary.evaluations += result.evaluations;
      if (result.score.feasible) ++summary.feasible;
      const double ratio = result.score.makespan_us / result.single_device_us;
      if (!std::isfinite(ratio) || ratio <= 0) continue;
      auto& [sum, count] = log_ratios[result.key.seed];
      sum += std::log(ratio);
      ++count;
    }
    std::vector<double> means;
    for (const auto& [seed, sum] : log_ratios) means.push_back(std::exp(sum.first / static_cast<double>(sum.second)));
    summary.ratio = MeanWithInterval(means);
    summary.graphs = std::ssize(graphs_of[method]);
    summary.wins = wins_of[method];
    summaries.push_back(summary);
  }
  return summaries;
}

}  // namespace emplace
