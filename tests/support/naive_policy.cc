#include "tests/support/naive_policy.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "policy/placeto/placeto_shape.h"

namespace emplace {
namespace {

using Vector = std::vector<double>;

class NaivePolicy {
 public:
  NaivePolicy(const PolicyWeights& weights, const PlacetoState& state)
      : shape_(PlacetoShape::Of(weights.shape)), state_(state), graph_(*state.graph) {
    const float* next = weights.values.data();
    for (const LayerSpec& spec : PlacetoLayers(shape_)) {
      Layer& layer = layers_[spec.name];
      for (int32_t out = 0; out < spec.out; ++out, next += spec.in) layer.rows.emplace_back(next, next + spec.in);
      layer.bias.assign(next, next + spec.out);
      next += spec.out;
    }
  }

  Vector Logits() {
    std::vector<Vector> self;
    for (int32_t i = 0; i < graph_.num_nodes; ++i) {
      self.push_back(Apply("self.2", Relu(Apply("self.1", Relu(Apply("self.0", Features(i)))))));
    }
    const std::vector<Vector> forward = Rounds("forward", self, graph_.parents);
    const std::vector<Vector> backward = Rounds("backward", self, graph_.children);
    for (size_t i = 0; i < self.size(); ++i) {
      embedding_.push_back(forward[i]);
      embedding_.back().insert(embedding_.back().end(), backward[i].begin(), backward[i].end());
    }
    // Reachability by walking the graph, so that PlacetoGraph's bit sets are under test too.
    std::vector<bool> ancestor(self.size(), false);
    std::vector<bool> descendant(self.size(), false);
    Walk(state_.step, graph_.parents, ancestor);
    Walk(state_.step, graph_.children, descendant);
    Vector pooled;
    const auto append = [&](const Vector& part) { pooled.insert(pooled.end(), part.begin(), part.end()); };
    append(PoolOver("ancestors", [&](size_t i) { return ancestor[i]; }));
    append(PoolOver("descendants", [&](size_t i) { return descendant[i]; }));
    append(PoolOver("neither",
                    [&](size_t i) { return !ancestor[i] && !descendant[i] && i != static_cast<size_t>(state_.step); }));
    append(embedding_[static_cast<size_t>(state_.step)]);
    Vector logits = Apply("classifier.2", Relu(Apply("classifier.1", Relu(Apply("classifier.0", pooled)))));
    for (size_t d = 0; d < logits.size(); ++d) {
      if (graph_.allowed[static_cast<size_t>(state_.step) * logits.size() + d] == 0) {
        logits[d] = -std::numeric_limits<double>::infinity();
      }
    }
    return logits;
  }

 private:
  struct Layer {
    std::vector<Vector> rows;
    Vector bias;
  };

  static Vector Relu(Vector x) {
    for (double& value : x) value = std::max(value, 0.0);
    return x;
  }

  Vector Apply(const std::string& name, const Vector& x) const {
    const Layer& layer = layers_.at(name);
    Vector y = layer.bias;
    for (size_t out = 0; out < y.size(); ++out) {
      for (size_t in = 0; in < x.size(); ++in) y[out] += layer.rows[out].at(in) * x[in];
    }
    return y;
  }

  Vector Mlp(const std::string& name, const Vector& x) const {
    return Relu(Apply(name + ".1", Relu(Apply(name + ".0", x))));
  }

  Vector Features(int32_t node) const {
    const auto i = static_cast<size_t>(node);
    Vector x = {static_cast<double>(graph_.cost[i]), static_cast<double>(graph_.bytes[i])};
    if (shape_.memory_feature) x.push_back(static_cast<double>(graph_.memory[i]));
    if (shape_.start_times) x.push_back(static_cast<double>(state_.start_times[i]));
    for (int32_t d = 0; d < shape_.num_devices; ++d) x.push_back(state_.placement[i] == d ? 1 : 0);
    x.push_back(node < state_.step ? 1 : 0);
    x.push_back(node == state_.step ? 1 : 0);
    return x;
  }

  std::vector<Vector> Rounds(const std::string& direction, const std::vector<Vector>& self, const Csr& heard) const {
    std::vector<Vector> x = self;
    for (int32_t round = 0; round < shape_.message_rounds; ++round) {
      std::vector<Vector> next = self;
      for (int32_t i = 0; i < graph_.num_nodes; ++i) {
        if (heard.Row(i).empty()) continue;
        Vector sum(static_cast<size_t>(shape_.width()), 0.0);
        for (const int32_t j : heard.Row(i)) Add(Mlp(direction + ".f", x[static_cast<size_t>(j)]), sum);
        Add(Mlp(direction + ".g", sum), next[static_cast<size_t>(i)]);
      }
      x = next;
    }
    return x;
  }

  Vector PoolOver(const std::string& name, const std::function<bool(size_t)>& member) const {
    Vector sum(static_cast<size_t>(shape_.embedding_width()), 0.0);
    if (!shape_.pooling) return sum;
    for (size_t i = 0; i < embedding_.size(); ++i) {
      if (member(i)) Add(Mlp(name + ".F", embedding_[i]), sum);
    }
    return Mlp(name + ".G", sum);
  }

  void Walk(int32_t from, const Csr& edges, std::vector<bool>& reached) const {
    for (const int32_t next : edges.Row(from)) {
      if (reached[static_cast<size_t>(next)]) continue;
      reached[static_cast<size_t>(next)] = true;
      Walk(next, edges, reached);
    }
  }

  static void Add(const Vector& from, Vector& to) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += from.at(i);
  }

  PlacetoShape shape_;
  const PlacetoState& state_;
  const PlacetoGraph& graph_;
  std::map<std::string, Layer> layers_;
  std::vector<Vector> embedding_;
};

}  // namespace

std::vector<double> NaivePlacetoLogits(const PolicyWeights& weights, const PlacetoState& state) {
  return NaivePolicy(weights, state).Logits();
}

}  // namespace emplace
