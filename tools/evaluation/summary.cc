#include "tools/evaluation/summary.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "tools/evaluation/wins.h"

namespace emplace {
namespace {

// Student's t for 95%, two-sided, by degrees of freedom from 1 on; beyond, the normal distribution's is near enough.
constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
                               2.145,  2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
                               2.052,  2.048, 2.045, 2.042};
constexpr double kNormal = 1.96;

}  // namespace

Interval MeanWithInterval(std::span<const double> values) {
  if (values.empty()) return {std::nan(""), std::nan(""), std::nan("")};
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / n;
  if (values.size() == 1) return {mean, mean, mean};
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const size_t freedom = values.size() - 1;
  const double t = freedom <= std::size(kStudent) ? kStudent[freedom - 1] : kNormal;
  const double half = t * std::sqrt(squares / static_cast<double>(freedom) / n);
  return {mean, mean - half, mean + half};
}

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
