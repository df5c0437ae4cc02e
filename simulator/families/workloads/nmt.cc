#include "simulator/families/workloads/nmt.h"

#include <vector>

#include "common/strings.h"
#include "simulator/families/workloads/lstm_layers.h"

namespace emplace {
namespace {

// One layer's weights, for all steps.
struct LstmWeights {
  TensorId kernel = -1;  // [input + H, 4 H]: input gate, candidate, forget gate, output gate
  TensorId bias = -1;    // [4 H]
};

class NmtBuilder {
 public:
  NmtBuilder(const NmtModel& model, TensorProgram& program) : model_(model), p_(program) {}

  TensorId Build() {
    const Shape state_shape = {model_.batch, model_.hidden};
    // Stages: a layer of the encoder with that of the decoder, as GNMT places them (Wu et al. 2016); then attention and
    // softmax.
    const auto last_stage = static_cast<int32_t>(model_.layers);
    p_.SetStage(0);
    const std::vector<TensorId> source = Words("source");
    const std::vector<TensorId> target = Words("target");
    const TensorId labels = p_.IdInput("labels", {model_.steps, model_.batch});

    std::vector<LstmState> states;
    for (int64_t layer = 0; layer < model_.layers; ++layer) {
      states.push_back({p_.Input(StrCat("h", layer), state_shape), p_.Input(StrCat("c", layer), state_shape)});
    }
    const std::vector<LstmWeights> encoder = Weights("encoder", model_.hidden);
    std::vector<TensorId> tops;
    for (int64_t t = 0; t < model_.steps; ++t) {
      step_ = StrCat("e", TwoDigits(t));
      tops.push_back(Step(encoder, source[static_cast<size_t>(t)], states));
    }

    step_ = "attention";
    p_.SetStage(last_stage);
    const TensorId memory = Add("memory", "aten.stack", tops, {.dim = 1});  // [B, S, H]
    const int64_t rows = model_.batch * model_.steps;
    const TensorId key_weight = p_.Parameter("attention/key_weight", {model_.hidden, model_.hidden});
    const TensorId keys = p_.Reshape(Add("keys", "aten.mm", {p_.Reshape(memory, {rows, model_.hidden}), key_weight}),
                                     {model_.batch, model_.steps, model_.hidden});
    const TensorId mix_weight = p_.Parameter("attention/mix_weight", {2 * model_.hidden, model_.hidden});
    const TensorId softmax_weight = p_.Parameter("softmax/weight", {model_.hidden, model_.vocabulary});

    const std::vector<LstmWeights> decoder = Weights("decoder", 2 * model_.hidden);
    TensorId attended = p_.Input("attended", state_shape);  // Fed to the next step together with its word.
    TensorId loss = -1;
    for (int64_t t = 0; t < model_.steps; ++t) {
      step_ = StrCat("d", TwoDigits(t));
      p_.SetStage(0);
      const TensorId x = Add("feed", "aten.cat", {target[static_cast<size_t>(t)], attended}, {.dim = 1});
      const TensorId h = Step(decoder, x, states);
      p_.SetStage(last_stage);
      attended = Attend(h, keys, memory, mix_weight);
      const TensorId logits = Add("softmax/mm", "aten.mm", {attended, softmax_weight});
      loss = AddStepLoss(p_, step_ + "/", logits, labels, t, loss);
    }
    return p_.Add("loss", "aten.div", {loss}, {.divisor = static_cast<double>(model_.steps)});
  }

 private:
  TensorId Add(const std::string& name, const std::string& type, const std::vector<TensorId>& inputs,
               const OpAttributes& attributes = {}) {
    return p_.Add(StrCat(step_, "/", name), type, inputs, attributes);
  }

  // The embedded words of a sentence, [B, H] for each step.
  std::vector<TensorId> Words(const std::string& sentence) {
    return EmbedWords(p_, sentence, model_.vocabulary, model_.hidden, model_.steps, model_.batch);
  }

  std::vector<LstmWeights> Weights(const std::string& stack, int64_t input) {
    std::vector<LstmWeights> weights;
    for (int64_t layer = 0; layer < model_.layers; ++layer) {
      const std::string name = StrCat(stack, "/l", layer);
      p_.SetStage(static_cast<int32_t>(layer));
      weights.push_back(
          {p_.Parameter(name + "/kernel", {(layer == 0 ? input : model_.hidden) + model_.hidden, 4 * model_.hidden}),
           p_.Parameter(name + "/bias", {4 * model_.hidden})});
    }
    return weights;
  }

  // Moves every layer on by one step; returns the top one's h.
  TensorId Step(const std::vector<LstmWeights>& weights, TensorId x, std::vector<LstmState>& states) {
    for (size_t layer = 0; layer < weights.size(); ++layer) {
      p_.SetStage(static_cast<int32_t>(layer));
      states[layer] = Cell(StrCat("l", layer, "/"), weights[layer], x, states[layer]);
      x = states[layer].h;
    }
    return x;
  }

  LstmState Cell(const std::string& n, const LstmWeights& weights, TensorId x, const LstmState& state) {
    const TensorId both = Add(n + "cat", "aten.cat", {x, state.h}, {.dim = 1});
    const TensorId gates = Add(n + "gates", "aten.addmm", {weights.bias, both, weights.kernel});
    const auto gate = [&](int64_t i) { return p_.Slice(gates, 1, i * model_.hidden, model_.hidden); };
    return ApplyLstmGates(p_, StrCat(step_, "/", n), {gate(0), gate(1), gate(2), gate(3)}, state.c);
  }

  TensorId Attend(TensorId h, TensorId keys, TensorId memory, TensorId mix_weight) {
    const TensorId query = p_.Reshape(h, {model_.batch, 1, model_.hidden});
    const TensorId scores = Add("attention/scores", "aten.bmm", {query, keys}, {.transpose_b = true});  // [B, 1, S]
    const TensorId weights = Add("attention/weights", "aten._softmax", {scores});
    const TensorId context = Add("attention/context", "aten.bmm", {weights, memory});  // [B, 1, H]
    const TensorId both =
        Add("attention/cat", "aten.cat", {p_.Reshape(context, {model_.batch, model_.hidden}), h}, {.dim = 1});
    return Add("attention/tanh", "aten.tanh", {Add("attention/mix", "aten.mm", {both, mix_weight})});
  }

  const NmtModel& model_;
  TensorProgram& p_;
  std::string step_;
};

}  // namespace

Ranges NmtRanges(bool small) {
  if (small) {
    return Ranges({{"layers", {2, 2}},
                   {"hidden", {128, 256, 64}},
                   {"batch", {8, 16}},
                   {"steps", {3, 5}},
                   {"vocabulary", {1000, 1000}}});
  }
  return Ranges({{"layers", {2, 4}},
                 {"hidden", {512, 1024, 64}},
                 {"batch", {32, 256, 8}},
                 {"steps", {10, 60}},
                 {"vocabulary", {30000, 30000}}});
}

NmtModel SampleNmt(Rng& rng, const Ranges& ranges) {
  NmtModel model;
  model.layers = ranges.Draw("layers", rng);
  model.hidden = ranges.Draw("hidden", rng);
  model.batch = ranges.Draw("batch", rng);
  model.steps = ranges.Draw("steps", rng);
  model.vocabulary = ranges.Draw("vocabulary", rng);
  return model;
}

TensorProgram BuildNmt(const NmtModel& model, const StepOptions& options) {
  return BuildModelStep<NmtBuilder>(model, options, Optimizer::kSgd);
}

}  // namespace emplace
