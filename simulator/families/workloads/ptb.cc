#include "simulator/families/workloads/ptb.h"

#include <cmath>

#include "common/strings.h"
#include "simulator/families/workloads/lstm_layers.h"

namespace emplace {
namespace {

// Builds the forward pass, time step by time step.
class PtbBuilder {
 public:
  PtbBuilder(const PtbModel& model, TensorProgram& program) : model_(model), p_(program) {}

  TensorId Build() {
    const int64_t h = model_.hidden;
    // Stages: the cell's nodes by number, then the softmax, which also holds the embedding tied to it.
    const auto last_stage = static_cast<int32_t>(model_.parent.size());
    p_.SetStage(last_stage);
    const TensorId embedding = p_.Parameter("embedding", {model_.vocabulary, h});
    for (size_t i = 0; i < model_.parent.size(); ++i) {
      p_.SetStage(static_cast<int32_t>(i));
      weights_.push_back(p_.Parameter(StrCat("w", i), {i == 0 ? 2 * h : h, 2 * h}));
    }
    p_.SetStage(0);
    const TensorId tokens = p_.IdInput("tokens", {model_.steps, model_.batch});
    const TensorId targets = p_.IdInput("targets", {model_.steps, model_.batch});
    TensorId hidden = p_.Input("h0", {model_.batch, h});
    const TensorId words = p_.Add("words", "aten.embedding", {embedding, tokens});

    TensorId loss = -1;
    for (int64_t t = 0; t < model_.steps; ++t) {
      step_ = StrCat("t", TwoDigits(t), "/");
      hidden = Cell(p_.Slice(words, 0, t, 1, /*drop_dim=*/true), hidden);
      p_.SetStage(last_stage);
      const TensorId logits = Add("softmax/mm", "aten.mm", {hidden, embedding}, {.transpose_b = true});
      loss = AddStepLoss(p_, step_, logits, targets, t, loss);
    }
    return p_.Add("loss", "aten.div", {loss}, {.divisor = static_cast<double>(model_.steps)});
  }

 private:
  TensorId Add(const std::string& name, const std::string& type, const std::vector<TensorId>& inputs,
               const OpAttributes& attributes = {}) {
    return p_.Add(step_ + name, type, inputs, attributes);
  }

  // s_0 from [x_t, h_{t-1}], s_i from s_p; the new h is the mean of the nodes that no other node reads.
  TensorId Cell(TensorId x, TensorId h) {
    std::vector<TensorId> s;
    std::vector<bool> used(model_.parent.size());
    for (size_t i = 0; i < model_.parent.size(); ++i) {
      p_.SetStage(static_cast<int32_t>(i));
      if (i == 0) {
        s.push_back(Node(0, Add("n00/cat", "aten.cat", {x, h}, {.dim = 1}), h));
      } else {
        const auto parent = static_cast<size_t>(model_.parent[i]);
        used[parent] = true;
        s.push_back(Node(i, s[parent], s[parent]));
      }
    }
    TensorId sum = -1;
    int unused = 0;
    for (size_t i = 0; i < s.size(); ++i) {
      if (used[i]) continue;
      sum = sum < 0 ? s[i] : Add(StrCat("mean/add", unused), "aten.add", {sum, s[i]});
      ++unused;
    }
    return unused > 1 ? Add("mean/div", "aten.div", {sum}, {.divisor = static_cast<double>(unused)}) : sum;
  }

  // (c, f) = input W_i; s = previous + sigmoid(c) * (act(f) - previous).
  TensorId Node(size_t i, TensorId input, TensorId previous) {
    const std::string n = StrCat("n", TwoDigits(static_cast<int64_t>(i)), "/");
    const TensorId both = Add(n + "mm", "aten.mm", {input, weights_[i]});
    const TensorId gate = Add(n + "gate", "aten.sigmoid", {p_.Slice(both, 1, 0, model_.hidden)});
    const TensorId f = p_.Slice(both, 1, model_.hidden, model_.hidden);
    const TensorId difference = Add(n + "sub", "aten.sub", {Activate(n, model_.activation[i], f), previous});
    return Add(n + "add", "aten.add", {previous, Add(n + "mul", "aten.mul", {gate, difference})});
  }

  TensorId Activate(const std::string& n, Activation activation, TensorId f) {
    switch (activation) {
      case Activation::kTanh:
        return Add(n + "act", "aten.tanh", {f});
      case Activation::kRelu:
        return Add(n + "act", "aten.relu", {f});
      case Activation::kSigmoid:
        return Add(n + "act", "aten.sigmoid", {f});
      case Activation::kIdentity:
        break;
    }
    return f;
  }

  const PtbModel& model_;
  TensorProgram& p_;
  std::vector<TensorId> weights_;
  std::string step_;
};

}  // namespace

Ranges PtbRanges(bool small) {
  return Ranges({{"nodes", small ? IntRange{8, 8} : IntRange{12, 12}},
                 {"batch", {20, 64}},
                 {"hidden", {256, small ? 512 : 1024, 16}},
                 {"steps", small ? IntRange{3, 5} : IntRange{20, 35}},
                 {"vocabulary", {10000, 10000}}});
}

PtbModel SamplePtb(Rng& rng, const Ranges& ranges) {
  PtbModel model;
  const auto nodes = static_cast<int32_t>(ranges.Draw("nodes", rng));
  for (int32_t i = 0; i < nodes; ++i) {
    std::vector<double> weights;
    for (int32_t p = 0; p < i; ++p) weights.push_back(std::exp(-static_cast<double>((i - p) * (i - p)) / 6));
    model.parent.push_back(i == 0 ? -1 : static_cast<int32_t>(rng.Categorical(weights)));
    model.activation.push_back(static_cast<Activation>(rng.UniformInt(0, 3)));
  }
  model.batch = ranges.Draw("batch", rng);
  model.hidden = ranges.Draw("hidden", rng);
  model.steps = ranges.Draw("steps", rng);
  model.vocabulary = ranges.Draw("vocabulary", rng);
  return model;
}

TensorProgram BuildPtb(const PtbModel& model, const StepOptions& options) {
  return BuildModelStep<PtbBuilder>(model, options, Optimizer::kSgd);
}

}  // namespace emplace
