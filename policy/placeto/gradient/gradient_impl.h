// Forward and backward pass of a tile, over the path's `Vec`. Only gradient_<path>.cc files include it. All of it is in
// the unnamed namespace, because code for one processor must never be merged with a function of the same name
// for another processor.
//
// The forward pass keeps only x of each round. The backward pass computes the hidden layers, messages and sums again,
// which costs less than storing and loading them.
#pragma once

#include <cstdint>

#include "policy/placeto/gradient/gradient_layers.h"
#include "policy/placeto/placeto_features.h"

namespace emplace {
namespace {

constexpr int32_t kSets = 3;
constexpr int64_t kL = Vec::kLanes;

// A tile, with sizes and strides that are derived from the policy's.
class TilePass {
 public:
  TilePass(const GradientPolicy& policy, const GradientTile& tile, GradientScratch& scratch, bool keep)
      : p_(policy),
        t_(tile),
        s_(scratch),
        n_(tile.num_nodes),
        m_(policy.width),
        e_(2 * policy.width),
        round_stride_(keep ? int64_t{tile.num_nodes} * policy.width * kL : 0),
        direction_stride_(keep ? (policy.rounds - 1) * round_stride_ : 0) {}

  void Forward() {
    FillFeatures();
    ForPanels(nullptr, n_, [&](const Panel& nodes) {
      const float* x[kPanel];
      float* first[kPanel];
      float* second[kPanel];
      float* y[kPanel];
      SelfHidden(nodes, x, first, second);
      Pointers(nodes, s_.self, m_, y, s_.trash);
      MultiplyPanel<After::kStore>(Weights(p_.layers.self[2]), p_.layers.self[2].bias, second, y);
    });
    for (int direction = 0; direction < 2; ++direction) PassMessages(direction);
    if (p_.pooling) {
      FillMasks();
      for (int32_t set = 0; set < kSets; ++set) PoolSet(set);
    } else {
      ZeroRow(s_.pooled, kSets * e_);
    }
    for (int32_t c = 0; c < e_; ++c) {
      for (int32_t lane = 0; lane < Vec::kLanes; ++lane) {
        s_.pooled[(kSets * e_ + c) * kL + lane] = s_.embedding[(int64_t{t_.step[lane]} * e_ + c) * kL + lane];
      }
    }
    MultiplyRow<After::kRelu>(Weights(p_.layers.classifier[0]), p_.layers.classifier[0].bias, s_.pooled,
                              s_.classifier_hidden[0]);
    MultiplyRow<After::kRelu>(Weights(p_.layers.classifier[1]), p_.layers.classifier[1].bias, s_.classifier_hidden[0],
                              s_.classifier_hidden[1]);
    MultiplyRow<After::kStore>(Weights(p_.layers.classifier[2]), p_.layers.classifier[2].bias, s_.classifier_hidden[1],
                               s_.logits);
  }

  // REQUIRES: Forward has run, and `keep` is set.
  void Backward() {
    ClassifierBackward();
    for (int64_t i = 0; i < n_ * e_ * kL; i += kL) Vec::Zero().Store(s_.embedding_delta + i);
    for (int32_t c = 0; c < e_; ++c) {
      for (int32_t lane = 0; lane < Vec::kLanes; ++lane) {
        s_.embedding_delta[(int64_t{t_.step[lane]} * e_ + c) * kL + lane] =
            s_.pooled_delta[(kSets * e_ + c) * kL + lane];
      }
    }
    if (p_.pooling) {
      for (int32_t set = 0; set < kSets; ++set) PoolSetBackward(set);
    }
    for (int64_t i = 0; i < n_ * m_ * kL; i += kL) Vec::Zero().Store(s_.self_delta + i);
    for (int direction = 0; direction < 2; ++direction) PassMessagesBackward(direction);
    ForPanels(nullptr, n_, [&](const Panel& nodes) { SelfBackward(nodes); });
  }

 private:
  // Up to kPanel nodes; the rest of the panel is padding.
  struct Panel {
    int32_t node[kPanel];
    int32_t count;
  };

  // Calls panel(nodes) for the listed nodes; nullptr lists all.
  template <typename Function>
  static void ForPanels(const int32_t* list, int32_t count, const Function& panel) {
    for (int32_t first = 0; first < count; first += kPanel) {
      Panel nodes;
      nodes.count = count - first < kPanel ? count - first : kPanel;
      for (int32_t r = 0; r < nodes.count; ++r) nodes.node[r] = list == nullptr ? first + r : list[first + r];
      panel(nodes);
    }
  }

  // Pointers to the rows of the panel's nodes in an array of rows of `width`; `padding` stands in for missing nodes.
  template <typename Pointer>
  static void Pointers(const Panel& nodes, float* array, int32_t width, Pointer* rows, float* padding) {
    for (int32_t r = 0; r < kPanel; ++r) rows[r] = r < nodes.count ? array + nodes.node[r] * (width * kL) : padding;
  }
  // Pointers to the rows of a panel's scratch memory.
  template <typename Pointer>
  static void PanelRows(float* array, int32_t width, Pointer* rows) {
    for (int32_t r = 0; r < kPanel; ++r) rows[r] = array + r * (width * kL);
  }

  // x of a direction after `round` rounds.
  float* X(int direction, int32_t round, int32_t node) const {
    if (round == p_.rounds) return s_.embedding + (node * int64_t{e_} + direction * m_) * kL;
    if (round == 0) return s_.self + node * (m_ * kL);
    return s_.x + direction * direction_stride_ + (round - 1) * round_stride_ + node * (m_ * kL);
  }
  template <typename Pointer>
  void XRows(const Panel& nodes, int direction, int32_t round, Pointer* rows, float* padding) const {
    for (int32_t r = 0; r < kPanel; ++r) rows[r] = r < nodes.count ? X(direction, round, nodes.node[r]) : padding;
  }

  // Writes the features of all nodes.
  void FillFeatures() {
    for (int32_t node = 0; node < n_; ++node) {
      float* const row = s_.features + node * (p_.num_features * kL);
      for (int32_t lane = 0; lane < Vec::kLanes; ++lane) {
        const NodeFacts facts{t_.cost[node], t_.bytes[node], t_.memory[node],     t_.placement[lane][node],
                              node,          t_.step[lane],  t_.start_times[lane]};
        ForEachFeature(facts, p_.features, [=](int32_t feature, float value) { row[feature * kL + lane] = value; });
      }
    }
  }

  // Writes which set each node is in for each state. The current node is in no set.
  void FillMasks() {
    for (int32_t set = 0; set < kSets; ++set) s_.num_members[set] = 0;
    for (int32_t node = 0; node < n_; ++node) {
      bool any[kSets] = {};
      for (int32_t lane = 0; lane < Vec::kLanes; ++lane) {
        const bool ancestor = (t_.ancestors[lane][node / 64] >> (node % 64) & 1) != 0;
        const bool descendant = (t_.descendants[lane][node / 64] >> (node % 64) & 1) != 0;
        const bool in[kSets] = {ancestor, descendant, !ancestor && !descendant && node != t_.step[lane]};
        for (int32_t set = 0; set < kSets; ++set) {
          Mask(set, node)[lane] = in[set] ? 1.0F : 0.0F;
          any[set] |= in[set];
        }
      }
      for (int32_t set = 0; set < kSets; ++set) {
        if (any[set]) s_.members[set * n_ + s_.num_members[set]++] = node;
      }
    }
  }
  float* Mask(int32_t set, int32_t node) const { return s_.mask + (int64_t{set} * n_ + node) * kL; }

  // Computes the hidden layers of the self MLP into panels 0 and 1.
  void SelfHidden(const Panel& nodes, const float** x, float** first, float** second) {
    Pointers(nodes, s_.features, p_.num_features, x, s_.zeros);
    PanelRows(s_.panel[0], p_.num_features, first);
    PanelRows(s_.panel[1], p_.num_features, second);
    MultiplyPanel<After::kRelu>(Weights(p_.layers.self[0]), p_.layers.self[0].bias, x, first);
    MultiplyPanel<After::kRelu>(Weights(p_.layers.self[1]), p_.layers.self[1].bias, first, second);
  }

  static void MlpForward(const GradientMlp& mlp, const float* const* x, float* const* hidden, float* const* y) {
    MultiplyPanel<After::kRelu>(Weights(mlp.hidden), mlp.hidden.bias, x, hidden);
    MultiplyPanel<After::kRelu>(Weights(mlp.output), mlp.output.bias, hidden, y);
  }

  // delta: gradient of the output before its relu. hidden_delta: scratch rows.
  template <After kAfter>
  static void MlpBackward(const GradientMlp& mlp, const float* const* x, const float* const* hidden,
                          const float* const* delta, float* const* hidden_delta, float* const* x_delta) {
    AddLayerGradient(mlp.output, hidden, delta);
    MultiplyPanel<After::kWherePositive>(Transposed(mlp.output), nullptr, delta, hidden_delta, hidden);
    AddLayerGradient(mlp.hidden, x, hidden_delta);
    MultiplyPanel<kAfter>(Transposed(mlp.hidden), nullptr, hidden_delta, x_delta);
  }

  // Computes the hidden layers and messages of all nodes that some node hears.
  void SendMessages(int direction, int32_t round) {
    ForPanels(t_.receivers[1 - direction], t_.num_receivers[1 - direction], [&](const Panel& nodes) {
      const float* x[kPanel];
      float* hidden[kPanel];
      float* message[kPanel];
      XRows(nodes, direction, round, x, s_.zeros);
      Pointers(nodes, s_.hidden, m_, hidden, s_.panel[0]);
      Pointers(nodes, s_.message, m_, message, s_.trash);
      MlpForward(p_.layers.directions[direction].f, x, hidden, message);
    });
  }

  // Computes the sums over neighbours into panel 0, and g's hidden and output layer into panels 1 and 2.
  void HearMessages(int direction, const Panel& nodes, float** sum, float** hidden, float** y) {
    PanelRows(s_.panel[0], m_, sum);
    PanelRows(s_.panel[1], m_, hidden);
    PanelRows(s_.panel[2], m_, y);
    const NeighbourView& from = t_.from[direction];
    for (int32_t r = 0; r < nodes.count; ++r) {
      const int32_t begin = from.begin[nodes.node[r]];
      SumRows(from.items + begin, from.begin[nodes.node[r] + 1] - begin, s_.message, m_ * kL, sum[r], m_);
    }
    for (int32_t r = nodes.count; r < kPanel; ++r) ZeroRow(sum[r], m_);
    MlpForward(p_.layers.directions[direction].g, sum, hidden, y);
  }

  bool Hears(int direction, int32_t node) const {
    return t_.from[direction].begin[node + 1] > t_.from[direction].begin[node];
  }

  void PassMessages(int direction) {
    if (p_.rounds == 0) {
      for (int32_t node = 0; node < n_; ++node) {
        CopyRow(s_.self + node * (m_ * kL), s_.embedding + (node * int64_t{e_} + direction * m_) * kL, m_);
      }
      return;
    }
    for (int32_t round = 0; round < p_.rounds; ++round) {
      SendMessages(direction, round);
      ForPanels(t_.receivers[direction], t_.num_receivers[direction], [&](const Panel& nodes) {
        float* sum[kPanel];
        float* hidden[kPanel];
        float* y[kPanel];
        HearMessages(direction, nodes, sum, hidden, y);
        for (int32_t r = 0; r < nodes.count; ++r) {
          float* const x = X(direction, round + 1, nodes.node[r]);
          const float* const self = s_.self + nodes.node[r] * (m_ * kL);
          for (int64_t i = 0; i < m_ * kL; i += kL) Vec::Add(Vec::Load(self + i), Vec::Load(y[r] + i)).Store(x + i);
        }
      });
      for (int32_t node = 0; node < n_; ++node) {
        if (!Hears(direction, node)) CopyRow(s_.self + node * (m_ * kL), X(direction, round + 1, node), m_);
      }
    }
  }

  // Computes F of a set's members, with the hidden layer in panel 0 and the output in panel 1.
  void Inner(int32_t set, const Panel& nodes, const float** x, float** hidden, float** y) {
    Pointers(nodes, s_.embedding, e_, x, s_.zeros);
    PanelRows(s_.panel[0], e_, hidden);
    PanelRows(s_.panel[1], e_, y);
    MlpForward(p_.layers.pools[set].inner, x, hidden, y);
  }

  void PoolSet(int32_t set) {
    float* const sum = s_.set_sum + set * (e_ * kL);
    ZeroRow(sum, e_);
    ForPanels(s_.members + set * n_, s_.num_members[set], [&](const Panel& nodes) {
      const float* x[kPanel];
      float* hidden[kPanel];
      float* y[kPanel];
      Inner(set, nodes, x, hidden, y);
      for (int64_t i = 0; i < e_ * kL; i += kL) {
        Vec total = Vec::Load(sum + i);
        for (int32_t r = 0; r < nodes.count; ++r) {
          total = Vec::MultiplyAdd(Vec::Load(Mask(set, nodes.node[r])), Vec::Load(y[r] + i), total);
        }
        total.Store(sum + i);
      }
    });
    const GradientMlp& outer = p_.layers.pools[set].outer;
    float* const hidden = s_.outer_hidden + set * (e_ * kL);
    MultiplyRow<After::kRelu>(Weights(outer.hidden), outer.hidden.bias, sum, hidden);
    MultiplyRow<After::kRelu>(Weights(outer.output), outer.output.bias, hidden, s_.pooled + set * (e_ * kL));
  }

  void ClassifierBackward() {
    AddHeadGradient(p_.layers.classifier[2], s_.classifier_hidden[1], s_.logit_delta, s_.transposed);
    MultiplyRow<After::kWherePositive>(Transposed(p_.layers.classifier[2]), nullptr, s_.logit_delta,
                                       s_.classifier_delta[1], s_.classifier_hidden[1]);
    AddHeadGradient(p_.layers.classifier[1], s_.classifier_hidden[0], s_.classifier_delta[1], s_.transposed);
    MultiplyRow<After::kWherePositive>(Transposed(p_.layers.classifier[1]), nullptr, s_.classifier_delta[1],
                                       s_.classifier_delta[0], s_.classifier_hidden[0]);
    AddHeadGradient(p_.layers.classifier[0], s_.pooled, s_.classifier_delta[0], s_.transposed);
    MultiplyRow<After::kStore>(Transposed(p_.layers.classifier[0]), nullptr, s_.classifier_delta[0], s_.pooled_delta);
  }

  void PoolSetBackward(int32_t set) {
    const GradientMlp& outer = p_.layers.pools[set].outer;
    float* const pooled_delta = s_.pooled_delta + set * (e_ * kL);
    float* const set_delta = s_.set_delta + set * (e_ * kL);
    const float* const outer_hidden = s_.outer_hidden + set * (e_ * kL);
    BackThroughRelu(s_.pooled + set * (e_ * kL), pooled_delta, e_);
    AddHeadGradient(outer.output, outer_hidden, pooled_delta, s_.transposed);
    MultiplyRow<After::kWherePositive>(Transposed(outer.output), nullptr, pooled_delta, s_.outer_delta, outer_hidden);
    AddHeadGradient(outer.hidden, s_.set_sum + set * (e_ * kL), s_.outer_delta, s_.transposed);
    MultiplyRow<After::kStore>(Transposed(outer.hidden), nullptr, s_.outer_delta, set_delta);

    ForPanels(s_.members + set * n_, s_.num_members[set], [&](const Panel& nodes) {
      const float* x[kPanel];
      float* hidden[kPanel];
      float* y[kPanel];
      Inner(set, nodes, x, hidden, y);
      float* delta[kPanel];
      float* hidden_delta[kPanel];
      float* x_delta[kPanel];
      PanelRows(s_.panel[2], e_, delta);
      PanelRows(s_.panel[3], e_, hidden_delta);
      Pointers(nodes, s_.embedding_delta, e_, x_delta, s_.trash);
      for (int32_t r = 0; r < kPanel; ++r) {
        if (r >= nodes.count) {
          ZeroRow(delta[r], e_);
          continue;
        }
        const Vec mask = Vec::Load(Mask(set, nodes.node[r]));
        for (int64_t i = 0; i < e_ * kL; i += kL) {
          // A mask is 1 or 0: where it is positive, and where F's output is.
          const Vec through = Vec::WherePositive(mask, Vec::Load(set_delta + i));
          Vec::WherePositive(Vec::Load(y[r] + i), through).Store(delta[r] + i);
        }
      }
      MlpBackward<After::kAdd>(p_.layers.pools[set].inner, x, hidden, delta, hidden_delta, x_delta);
    });
  }

  void PassMessagesBackward(int direction) {
    for (int32_t node = 0; node < n_; ++node) {
      CopyRow(s_.embedding_delta + (node * int64_t{e_} + direction * m_) * kL, s_.delta + node * (m_ * kL), m_);
    }
    AddRow(s_.delta, s_.self_delta, n_ * m_);
    for (int32_t round = p_.rounds - 1; round >= 0; --round) {
      SendMessages(direction, round);
      ForPanels(t_.receivers[direction], t_.num_receivers[direction],
                [&](const Panel& nodes) { HearBackward(direction, nodes); });
      for (int32_t node = 0; node < n_; ++node) {
        if (!Hears(1 - direction, node)) ZeroRow(s_.delta + node * (m_ * kL), m_);
      }
      ForPanels(t_.receivers[1 - direction], t_.num_receivers[1 - direction],
                [&](const Panel& nodes) { SendBackward(direction, round, nodes); });
      // The self embedding is a summand of every x, and the first x is the self embedding alone.
      AddRow(s_.delta, s_.self_delta, n_ * m_);
    }
  }

  // Computes the gradient of the sums over neighbours from that of x, through g.
  void HearBackward(int direction, const Panel& nodes) {
    float* sum[kPanel];
    float* hidden[kPanel];
    float* y[kPanel];
    HearMessages(direction, nodes, sum, hidden, y);
    float* hidden_delta[kPanel];
    float* sum_delta[kPanel];
    PanelRows(s_.panel[3], m_, hidden_delta);
    Pointers(nodes, s_.sum_delta, m_, sum_delta, s_.trash);
    // The gradient of y overwrites y.
    for (int32_t r = 0; r < kPanel; ++r) {
      if (r >= nodes.count) {
        ZeroRow(y[r], m_);
        continue;
      }
      const float* const delta = s_.delta + nodes.node[r] * (m_ * kL);
      for (int64_t i = 0; i < m_ * kL; i += kL) {
        Vec::WherePositive(Vec::Load(y[r] + i), Vec::Load(delta + i)).Store(y[r] + i);
      }
    }
    MlpBackward<After::kStore>(p_.layers.directions[direction].g, sum, hidden, y, hidden_delta, sum_delta);
  }

  // Computes the gradient of a node's x from those of the sums of the nodes that heard it, through f.
  void SendBackward(int direction, int32_t round, const Panel& nodes) {
    const float* x[kPanel];
    const float* hidden[kPanel];
    float* delta[kPanel];
    float* hidden_delta[kPanel];
    float* x_delta[kPanel];
    XRows(nodes, direction, round, x, s_.zeros);
    Pointers(nodes, s_.hidden, m_, hidden, s_.zeros);
    PanelRows(s_.panel[0], m_, delta);
    PanelRows(s_.panel[1], m_, hidden_delta);
    Pointers(nodes, s_.delta, m_, x_delta, s_.trash);
    const NeighbourView& to = t_.from[1 - direction];
    for (int32_t r = 0; r < kPanel; ++r) {
      if (r >= nodes.count) {
        ZeroRow(delta[r], m_);
        continue;
      }
      const int32_t begin = to.begin[nodes.node[r]];
      SumRows(to.items + begin, to.begin[nodes.node[r] + 1] - begin, s_.sum_delta, m_ * kL, delta[r], m_);
      BackThroughRelu(s_.message + nodes.node[r] * (m_ * kL), delta[r], m_);
    }
    MlpBackward<After::kStore>(p_.layers.directions[direction].f, x, hidden, delta, hidden_delta, x_delta);
  }

  void SelfBackward(const Panel& nodes) {
    const float* x[kPanel];
    float* first[kPanel];
    float* second[kPanel];
    SelfHidden(nodes, x, first, second);
    const float* delta[kPanel];
    float* second_delta[kPanel];
    float* first_delta[kPanel];
    Pointers(nodes, s_.self_delta, m_, delta, s_.zeros);
    PanelRows(s_.panel[2], p_.num_features, second_delta);
    PanelRows(s_.panel[3], p_.num_features, first_delta);
    AddLayerGradient(p_.layers.self[2], second, delta);
    MultiplyPanel<After::kWherePositive>(Transposed(p_.layers.self[2]), nullptr, delta, second_delta, second);
    AddLayerGradient(p_.layers.self[1], first, second_delta);
    MultiplyPanel<After::kWherePositive>(Transposed(p_.layers.self[1]), nullptr, second_delta, first_delta, first);
    AddLayerGradient(p_.layers.self[0], x, first_delta);
  }

  const GradientPolicy& p_;
  const GradientTile& t_;
  GradientScratch& s_;
  const int32_t n_;
  const int32_t m_;
  const int32_t e_;  // 2m
  const int64_t round_stride_;
  const int64_t direction_stride_;
};

inline void ForwardTile(const GradientPolicy& policy, const GradientTile& tile, GradientScratch& scratch) {
  TilePass(policy, tile, scratch, /*keep=*/false).Forward();
}

inline void BackwardTile(const GradientPolicy& policy, const GradientTile& tile, GradientScratch& scratch) {
  TilePass pass(policy, tile, scratch, /*keep=*/true);
  pass.Forward();
  pass.Backward();
}

}  // namespace
}  // namespace emplace
