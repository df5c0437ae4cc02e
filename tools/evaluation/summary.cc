#include "tools/evaluation/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace emplace {
namespace {

// Student's t for 95%, two-sided, by degrees of freedom from 1 on; beyond, the normal distribution's is near enough.
constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
                               2.145,  2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
                               2.052,  2.048, 2.045, 2.042};
constexpr double kNormal = 1.96;

// A method's runs on one graph, over its seeds. Less is better: what always fits comes before what is fast.
struct Standing {
  int64_t misfits = 0;
  double log_sum = 0;
  int64_t runs = 0;

  std::pair<int64_t, double> Rank() const { return {misfits, log_sum / static_cast<double>(runs)}; }
};

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
  std::map<std::string, std::map<std::string, Standing>> by_graph;  // Path -> method.
  for (const RunResult& result : results) {
    Standing& standing = by_graph[result.key.path][result.key.method];
    if (!result.score.feasible) ++standing.misfits;
    standing.log_sum += std::log(result.score.makespan_us);
    ++standing.runs;
  }

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
    for (const auto& [path, standings] : by_graph) {
      const auto own = standings.find(method);
      if (own == standings.end()) continue;
      ++summary.graphs;
      const bool beaten = std::any_of(standings.begin(), standings.end(), [&](const auto& other) {
        return other.second.Rank() < own->second.Rank();
      });
      if (own->second.misfits == 0 && !beaten) ++summary.wins;
    }
    summaries.push_back(summary);
  }
  return summaries;
}

}  // namespace emplace
