#include "api/evaluation/wins.h"

#include <algorithm>
#include <cmath>

namespace emplace {

bool Wins::Standing::Beats(const Standing& other) const {
  if (feasible != other.feasible) return feasible;
  // Means over as many equal numbers may differ in their last bits.
  return log_sum / static_cast<double>(runs) < other.log_sum / static_cast<double>(other.runs) - 1e-12;
}

void Wins::Add(const std::string& graph, const std::string& method, double makespan_us, bool feasible) {
  Standing& standing = by_graph_[graph][method];
  standing.feasible = standing.feasible && feasible;
  standing.log_sum += std::log(makespan_us);
  ++standing.runs;
}

std::map<std::string, int64_t> Wins::ByMethod() const {
  std::map<std::string, int64_t> wins;
  for (const auto& [graph, standings] : by_graph_) {
    for (const auto& [method, standing] : standings) {
      const bool beaten = std::any_of(standings.begin(), standings.end(),
                                      [&own = standing](const auto& other) { return other.second.Beats(own); });
      if (standing.feasible && !beaten) ++wins[method];
    }
  }
  return wins;
}

}  // namespace emplace
