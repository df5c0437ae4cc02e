// A policy's parameters for networks written once more in double precision, one number at a time, which those on
// LibTorch are compared with.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "policy/features/group_features.h"
#include "policy/policy_kind.h"

namespace emplace {

using NaiveVector = std::vector<double>;

inline double NaiveSigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The features of each group: [n][kNumGroupFeatures].
inline std::vector<NaiveVector> NaiveGroups(const GroupGraph& graph) {
  const GroupFeatures features = MakeGroupFeatures(graph);
  std::vector<NaiveVector> groups;
  for (int32_t g = 0; g < graph.num_groups; ++g) {
    const auto first = features.nodes.begin() + std::ptrdiff_t{g} * kNumGroupFeatures;
    groups.emplace_back(first, first + kNumGroupFeatures);
  }
  return groups;
}

class NaiveParameters {
 public:
  NaiveParameters(const std::vector<ParameterSpec>& specs, const std::vector<float>& values) {
    size_t at = 0;
    for (const ParameterSpec& spec : specs) {
      for (size_t i = 0; i < NumEntries(spec); ++i) values_[spec.name].push_back(static_cast<double>(values[at++]));
    }
  }

  const NaiveVector& operator[](const std::string& name) const { return values_.at(name); }

  NaiveVector Linear(const std::string& name, const NaiveVector& x) const {
    const NaiveVector& weight = values_.at(name + ".weight");
    NaiveVector y = values_.at(name + ".bias");
    for (size_t o = 0; o < y.size(); ++o) {
      for (size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
    }
    return y;
  }

  static NaiveVector Relu(NaiveVector x) {
    for (double& value : x) value = value > 0 ? value : 0;
    return x;
  }

 private:
  std::map<std::string, NaiveVector> values_;
};

}  // namespace emplace
