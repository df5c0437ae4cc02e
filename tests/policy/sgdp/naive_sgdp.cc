#include "tests/policy/sgdp/naive_sgdp.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/strings.h"
#include "policy/sgdp/sgdp_kind.h"
#include "tests/policy/torch/naive_parameters.h"

namespace emplace {
namespace {

using Vector = NaiveVector;

class Naive {
 public:
  explicit Naive(const PolicyWeights& weights)
      : shape_(SgdpShape::Of(weights.shape)), parameters_(SgdpParameters(shape_), weights.values) {}

  std::vector<Vector> Logits(const GroupGraph& graph) const {
    std::vector<Vector> h = Embed(graph);
    Vector mean(h.front().size());
    for (const Vector& row : h) {
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += row[i] / static_cast<double>(h.size());
    }
    for (int32_t layer = 0; layer < shape_.placer_layers; ++layer) {
      h = PlacerLayer(StrCat("placer.", layer), std::move(h), mean);
    }
    if (shape_.graph_norm) TakeMeanAway(h);
    for (Vector& row : h) row = parameters_.Linear("output", Norm("output.norm", row));
    return h;
  }

 private:
  Vector Norm(const std::string& name, Vector x) const {
    const auto n = static_cast<double>(x.size());
    double mean = 0;
    double variance = 0;
    for (const double value : x) mean += value / n;
    for (const double value : x) variance += (value - mean) * (value - mean) / n;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] =
          (x[i] - mean) / std::sqrt(variance + 1e-5) * parameters_[name + ".scale"][i] + parameters_[name + ".bias"][i];
    }
    return x;
  }

  // Of each column over the rows.
  static void TakeMeanAway(std::vector<Vector>& rows) {
    for (size_t i = 0; i < rows.front().size(); ++i) {
      double mean = 0;
      for (const Vector& row : rows) mean += row[i] / static_cast<double>(rows.size());
      for (Vector& row : rows) row[i] -= mean;
    }
  }

  static void Standardize(std::vector<Vector>& rows) {
    TakeMeanAway(rows);
    for (size_t i = 0; i < rows.front().size(); ++i) {
      double variance = 0;
      for (const Vector& row : rows) variance += row[i] * row[i] / static_cast<double>(rows.size());
      for (Vector& row : rows) row[i] /= std::sqrt(variance) + 0.01;
    }
  }

  std::vector<Vector> Embed(const GroupGraph& graph) const {
    std::vector<Vector> h = NaiveGroups(graph);
    if (shape_.graph_norm) Standardize(h);
    for (Vector& row : h) row = NaiveParameters::Relu(parameters_.Linear("input", row));
    for (int32_t layer = 0; layer < shape_.graph_layers; ++layer) {
      std::vector<Vector> next;
      for (int32_t g = 0; g < graph.num_groups; ++g) {
        Vector heard(static_cast<size_t>(shape_.hidden));
        for (const Csr* const lists : {&graph.parents, &graph.children}) {
          for (const int32_t neighbour : lists->Row(g)) {
            const Vector pooled =
                parameters_.Linear(StrCat("graph.", layer, ".pool"), h[static_cast<size_t>(neighbour)]);
            for (size_t i = 0; i < heard.size(); ++i) heard[i] = std::max(heard[i], NaiveSigmoid(pooled[i]));
          }
        }
        Vector both = h[static_cast<size_t>(g)];
        both.insert(both.end(), heard.begin(), heard.end());
        next.push_back(NaiveParameters::Relu(parameters_.Linear(StrCat("graph.", layer, ".update"), both)));
      }
      h = std::move(next);
    }
    return h;
  }

  std::vector<Vector> PlacerLayer(const std::string& name, std::vector<Vector> x, const Vector& of_graph) const {
    if (shape_.superposition) {
      const Vector condition = parameters_.Linear(name + ".condition", of_graph);
      for (Vector& row : x) {
        for (size_t i = 0; i < row.size(); ++i) row[i] *= 2 * NaiveSigmoid(condition[i]);
      }
    }
    std::vector<Vector> normed;
    for (const Vector& row : x) normed.push_back(Norm(name + ".attention.norm", row));
    const auto segment = static_cast<size_t>(shape_.segment);
    const auto head_width = static_cast<size_t>(shape_.hidden / shape_.heads);
    for (size_t g = 0; g < x.size(); ++g) {
      const size_t own = g / segment;
      const size_t first = own == 0 ? 0 : (own - 1) * segment;
      const size_t last = std::min(x.size(), (own + 1) * segment);
      const Vector query = parameters_.Linear(name + ".attention.query", normed[g]);
      Vector mixed(query.size());
      for (size_t begin = 0; begin < query.size(); begin += head_width) {
        double total = 0;
        for (size_t other = first; other < last; ++other) {
          const Vector key = parameters_.Linear(name + ".attention.key", normed[other]);
          const Vector value = parameters_.Linear(name + ".attention.value", normed[other]);
          double score = 0;
          for (size_t i = begin; i < begin + head_width; ++i) score += query[i] * key[i];
          const double weight = std::exp(score / std::sqrt(static_cast<double>(head_width)));
          total += weight;
          for (size_t i = begin; i < begin + head_width; ++i) mixed[i] += weight * value[i];
        }
        for (size_t i = begin; i < begin + head_width; ++i) mixed[i] /= total;
      }
      Add(x[g], parameters_.Linear(name + ".attention.out", mixed));
      const Vector wide =
          NaiveParameters::Relu(parameters_.Linear(name + ".feedforward.0", Norm(name + ".feedforward.norm", x[g])));
      Add(x[g], parameters_.Linear(name + ".feedforward.1", wide));
    }
    return x;
  }

  static void Add(Vector& sum, const Vector& other) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
  }

  const SgdpShape shape_;
  const NaiveParameters parameters_;
};

}  // namespace

std::vector<std::vector<double>> NaiveSgdp(const PolicyWeights& weights, const GroupGraph& graph) {
  return Naive(weights).Logits(graph);
}

}  // namespace emplace
