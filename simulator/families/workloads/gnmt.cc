#include "simulator/families/workloads/gnmt.h"

#include <algorithm>
#include <vector>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/families/workloads/lstm_layers.h"

namespace emplace {
namespace {

constexpr int64_t kFewestLayers = 2;        // The first layer is bidirectional, and one above it reads both directions.
constexpr int64_t kFirstResidualLayer = 2;  // Counted from 0: a layer from here on adds its input to its output.

class GnmtBuilder {
 public:
  GnmtBuilder(const GnmtModel& model, TensorProgram& program) : model_(model), p_(program) {}

  TensorId Build() {
    EMPLACE_CHECK(model_.layers >= kFewestLayers);
    // Stages: a layer of the encoder with that of the decoder, as the paper places them; then attention and softmax.
    const std::vector<TensorId> encoded = Encode(Words("source"));
    p_.SetStage(LastStage());
    const int64_t rows = model_.steps * model_.batch;
    // [S, B, H] for the keys, [B, S, H] for the sum by weights.
    const TensorId values = p_.Add("attention/values", "aten.stack", encoded, {.dim = 0});
    const TensorId memory = p_.Add("attention/memory", "aten.permute_copy", {values}, {.dims = {1, 0, 2}});
    const TensorId key_weight = p_.Parameter("attention/key_weight", {model_.hidden, model_.hidden});
    const TensorId keys = p_.Add("attention/keys", "aten.mm", {p_.Reshape(values, {rows, model_.hidden}), key_weight});
    return Decode(Words("target"), keys, memory);
  }

 private:
  int32_t LastStage() const { return static_cast<int32_t>(model_.layers); }

  static std::string At(const char* stack, int64_t step) { return StrCat(stack, TwoDigits(step), "/"); }

  // The embedded words of a sentence, [B, H] for each step.
  std::vector<TensorId> Words(const std::string& sentence) {
    p_.SetStage(0);
    return EmbedWords(p_, sentence, model_.vocabulary, model_.hidden, model_.steps, model_.batch);
  }

  LstmState Start(const std::string& layer) {
    const Shape shape = {model_.batch, model_.hidden};
    return {p_.Input(layer + "/h", shape), p_.Input(layer + "/c", shape)};
  }

  // A layer over a whole sentence, forward or backward in time; returns its outputs in the sentence's order.
  std::vector<TensorId> Sweep(const std::string& layer, const std::vector<TensorId>& xs, bool backward) {
    const LstmLayer cell(p_, layer, p_.tensor(xs[0]).shape[1], model_.hidden);
    LstmState state = Start(layer);
    std::vector<TensorId> outputs(xs.size());
    for (size_t i = 0; i < xs.size(); ++i) {
      const size_t t = backward ? xs.size() - 1 - i : i;
      state = cell.Step(At("e", static_cast<int64_t>(t)) + layer, xs[t], state);
      outputs[t] = state.h;
    }
    return outputs;
  }

  // The top layer's outputs, [B, H] for each word.
  std::vector<TensorId> Encode(const std::vector<TensorId>& words) {
    const std::vector<TensorId> there = Sweep("encoder/l0", words, /*backward=*/false);
    const std::vector<TensorId> back = Sweep("encoder/l0_backward", words, /*backward=*/true);
    std::vector<TensorId> xs;
    for (size_t t = 0; t < words.size(); ++t) {
      xs.push_back(p_.Add(At("e", static_cast<int64_t>(t)) + "both", "aten.cat", {there[t], back[t]}, {.dim = 1}));
    }
    for (int64_t layer = 1; layer < model_.layers; ++layer) {
      p_.SetStage(static_cast<int32_t>(layer));
      const std::string name = StrCat("encoder/l", layer);
      std::vector<TensorId> outputs = Sweep(name, xs, /*backward=*/false);
      for (size_t t = 0; layer >= kFirstResidualLayer && t < outputs.size(); ++t) {
        outputs[t] = p_.Add(At("e", static_cast<int64_t>(t)) + name + "/residual", "aten.add", {outputs[t], xs[t]});
      }
      xs = std::move(outputs);
    }
    return xs;
  }

  // The mean loss of the decoder's words.
  TensorId Decode(const std::vector<TensorId>& words, TensorId keys, TensorId memory) {
    std::vector<LstmLayer> layers;
    std::vector<LstmState> states;
    for (int64_t layer = 0; layer < model_.layers; ++layer) {
      p_.SetStage(static_cast<int32_t>(layer));
      const std::string name = StrCat("decoder/l", layer);
      layers.emplace_back(p_, name, 2 * model_.hidden, model_.hidden);  // Every layer reads the attention too.
      states.push_back(Start(name));
    }
    p_.SetStage(LastStage());
    const TensorId labels = p_.IdInput("labels", {model_.steps, model_.batch});
    const TensorId query_weight = p_.Parameter("attention/query_weight", {model_.hidden, model_.hidden});
    const TensorId score_weight = p_.Parameter("attention/score_weight", {model_.hidden, 1});
    const TensorId softmax_weight = p_.Parameter("softmax/weight", {model_.hidden, model_.vocabulary});
    TensorId attention = p_.Input("attention/start", {model_.batch, model_.hidden});
    TensorId loss = -1;
    for (int64_t t = 0; t < model_.steps; ++t) {
      const std::string step = At("d", t);
      TensorId x = words[static_cast<size_t>(t)];
      for (int64_t layer = 0; layer < model_.layers; ++layer) {
        p_.SetStage(static_cast<int32_t>(layer));
        const auto at = static_cast<size_t>(layer);
        const std::string name = StrCat(step, "decoder/l", layer);
        const TensorId both = p_.Add(name + "/cat", "aten.cat", {x, attention}, {.dim = 1});
        states[at] = layers[at].Step(name, both, states[at]);
        const bool residual = layer >= kFirstResidualLayer;
        x = residual ? p_.Add(name + "/residual", "aten.add", {states[at].h, x}) : states[at].h;
        if (layer == 0) attention = Attend(step + "attention/", x, query_weight, score_weight, keys, memory);
      }
      p_.SetStage(LastStage());
      const TensorId logits = p_.Add(step + "softmax/mm", "aten.mm", {x, softmax_weight});
      loss = AddStepLoss(p_, step, logits, labels, t, loss);
    }
    return p_.Add("loss", "aten.div", {loss}, {.divisor = static_cast<double>(model_.steps)});
  }

  // Additive attention: the score of a word is v . tanh(W query + key).
  TensorId Attend(const std::string& n, TensorId query, TensorId query_weight, TensorId score_weight, TensorId keys,
                  TensorId memory) {
    p_.SetStage(LastStage());
    const int64_t rows = model_.batch * model_.hidden;
    const TensorId projected = p_.Add(n + "query", "aten.mm", {query, query_weight});
    const TensorId sum =
        p_.Add(n + "sum", "aten.add", {p_.Reshape(keys, {model_.steps, rows}), p_.Reshape(projected, {rows})});
    const TensorId hidden = p_.Add(n + "tanh", "aten.tanh", {sum});
    const TensorId scores = p_.Add(n + "scores", "aten.mm",
                                   {p_.Reshape(hidden, {model_.steps * model_.batch, model_.hidden}), score_weight});
    const TensorId by_sentence = p_.Add(n + "by_sentence", "aten.permute_copy",
                                        {p_.Reshape(scores, {model_.steps, model_.batch})}, {.dims = {1, 0}});
    const TensorId weights = p_.Add(n + "weights", "aten._softmax", {by_sentence});  // [B, S]
    const TensorId context =
        p_.Add(n + "context", "aten.bmm", {p_.Reshape(weights, {model_.batch, 1, model_.steps}), memory});
    return p_.Reshape(context, {model_.batch, model_.hidden});
  }

  const GnmtModel& model_;
  TensorProgram& p_;
};

}  // namespace

Ranges GnmtRanges(bool small) {
  if (small) {
    return Ranges({{"layers", {2, 3}},
                   {"hidden", {128, 256, 64}},
                   {"batch", {8, 16}},
                   {"steps", {3, 5}},
                   {"vocabulary", {1000, 1000}}});
  }
  return Ranges({{"layers", {2, 6}},
                 {"hidden", {512, 1280, 64}},
                 {"batch", {64, 256, 8}},
                 {"steps", {8, 20}},
                 {"vocabulary", {32000, 32000}}});
}

GnmtModel SampleGnmt(Rng& rng, const Ranges& ranges) {
  GnmtModel model;
  model.layers = ranges.Draw("layers", rng);
  model.hidden = ranges.Draw("hidden", rng);
  model.batch = ranges.Draw("batch", rng);
  model.steps = ranges.Draw("steps", rng);
  model.vocabulary = ranges.Draw("vocabulary", rng);
  if (model.layers < kFewestLayers) {
    throw BadInput(StrCat("layers is ", model.layers, ", expected at least ", kFewestLayers));
  }
  return model;
}

TensorProgram BuildGnmt(const GnmtModel& model, const StepOptions& options) {
  return BuildModelStep<GnmtBuilder>(model, options, Optimizer::kSgd);
}

}  // namespace emplace
