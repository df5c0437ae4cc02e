#include "policy/features/group_features.h"

#include <algorithm>
#include <cmath>

namespace emplace {
namespace {

// Makes columns of the features.
class Columns {
 public:
  Columns(int32_t num_groups, std::vector<float>& nodes) : nodes_(nodes) {
    nodes_.resize(static_cast<size_t>(num_groups) * static_cast<size_t>(kNumGroupFeatures));
  }

  void Set(GroupFeature feature, size_t group, double value) {
    nodes_[group * static_cast<size_t>(kNumGroupFeatures) + static_cast<size_t>(feature)] = static_cast<float>(value);
  }

  template <typename T>
  void SetShares(GroupFeature feature, const std::vector<T>& values) {
    const auto largest = static_cast<double>(*std::ranges::max_element(values));
    for (size_t group = 0; largest > 0 && group < values.size(); ++group) {
      Set(feature, group, static_cast<double>(values[group]) / largest);
    }
  }

  template <typename T>
  void SetLogs(GroupFeature feature, const std::vector<T>& values, double unit) {
    for (size_t group = 0; group < values.size(); ++group) {
      Set(feature, group, std::log1p(static_cast<double>(values[group])) / unit);
    }
  }

 private:
  std::vector<float>& nodes_;
};

std::vector<int32_t> Degrees(const Csr& lists) {
  std::vector<int32_t> degrees;
  for (int32_t row = 0; row < lists.rows(); ++row) degrees.push_back(static_cast<int32_t>(lists.Row(row).size()));
  return degrees;
}

void SetPaths(const GroupGraph& graph, Columns& columns) {
  const auto n = static_cast<size_t>(graph.num_groups);
  std::vector<double> from_start(n);
  std::vector<double> to_end(n);
  double critical = 0;
  for (size_t g = 0; g < n; ++g) {
    for (const int32_t parent : graph.parents.Row(static_cast<int32_t>(g))) {
      const auto p = static_cast<size_t>(parent);
      from_start[g] = std::max(from_start[g], from_start[p] + graph.cost_us[p]);
    }
    critical = std::max(critical, from_start[g] + graph.cost_us[g]);
  }
  for (size_t g = n; g-- > 0;) {
    for (const int32_t child : graph.children.Row(static_cast<int32_t>(g))) {
      to_end[g] = std::max(to_end[g], to_end[static_cast<size_t>(child)]);
    }
    to_end[g] += graph.cost_us[g];
  }
  for (size_t g = 0; critical > 0 && g < n; ++g) {
    columns.Set(GroupFeature::kFromStart, g, from_start[g] / critical);
    columns.Set(GroupFeature::kToEnd, g, to_end[g] / critical);
  }
}

}  // namespace

GroupFeatures MakeGroupFeatures(const GroupGraph& graph) {
  GroupFeatures features;
  features.num_groups = graph.num_groups;
  Columns columns(graph.num_groups, features.nodes);
  columns.SetShares(GroupFeature::kCostShare, graph.cost_us);
  columns.SetLogs(GroupFeature::kCostLog, graph.cost_us, 10);
  columns.SetShares(GroupFeature::kOutputShare, graph.output_bytes);
  columns.SetLogs(GroupFeature::kOutputLog, graph.output_bytes, 20);
  columns.SetShares(GroupFeature::kMemoryShare, graph.memory_bytes);
  columns.SetLogs(GroupFeature::kMemoryLog, graph.memory_bytes, 20);
  columns.SetLogs(GroupFeature::kParentsLog, Degrees(graph.parents), 3);
  columns.SetLogs(GroupFeature::kChildrenLog, Degrees(graph.children), 3);
  SetPaths(graph, columns);
  for (int32_t g = 0; g < graph.num_groups; ++g) {
    if (graph.num_groups > 1) {
      columns.Set(GroupFeature::kPosition, static_cast<size_t>(g), static_cast<double>(g) / (graph.num_groups - 1));
    }
    for (const int32_t parent : graph.parents.Row(g)) {
      features.from.insert(features.from.end(), {parent, g});
      features.to.insert(features.to.end(), {g, parent});
    }
  }
  return features;
}

}  // namespace emplace
