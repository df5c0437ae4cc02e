#include "simulator/families/workloads/rnnlm.h"

#include <vector>

#include "common/strings.h"
#include "simulator/families/workloads/lstm_layers.h"

namespace emplace {
namespace {

class RnnlmBuilder {
 public:
  RnnlmBuilder(const RnnlmModel& model, TensorProgram& program) : model_(model), p_(program) {}

  TensorId Build() {
    // Stages: a layer each, the first one with the embedding; then the softmax.
    p_.SetStage(0);
    const TensorId embedding = p_.Parameter("embedding", {model_.vocabulary, model_.projection});
    const TensorId tokens = p_.IdInput("tokens", {model_.steps, model_.batch});
    const TensorId words = p_.Add("words", "aten.embedding", {embedding, tokens});  // [T, B, P]

    std::vector<LstmLayer> layers;
    std::vector<LstmState> states;
    for (int64_t layer = 0; layer < model_.layers; ++layer) {
      p_.SetStage(static_cast<int32_t>(layer));
      layers.emplace_back(p_, StrCat("l", layer), model_.projection, model_.state, model_.projection);
      states.push_back({p_.Input(StrCat("h", layer), {model_.batch, model_.projection}),
                        p_.Input(StrCat("c", layer), {model_.batch, model_.state})});
    }
    std::vector<TensorId> outputs;
    for (int64_t t = 0; t < model_.steps; ++t) {
      TensorId x = p_.Slice(words, 0, t, 1, /*drop_dim=*/true);
      for (size_t layer = 0; layer < layers.size(); ++layer) {
        p_.SetStage(static_cast<int32_t>(layer));
        const std::string name = StrCat("t", TwoDigits(t), "/l", layer);
        states[layer] = layers[layer].Step(name, x, states[layer]);
        x = states[layer].h;
      }
      outputs.push_back(x);
    }
    p_.SetStage(static_cast<int32_t>(model_.layers));
    return SampledSoftmax(p_.Add("softmax/outputs", "aten.stack", outputs, {.dim = 0}));
  }

 private:
  // outputs: [T, B, P]. One lookup finds the rows of the right words, then those of the sampled ones; cross entropy of
  // the first score against the others.
  TensorId SampledSoftmax(TensorId outputs) {
    const int64_t words = model_.steps * model_.batch;
    const int64_t width = model_.projection;
    const TensorId weight = p_.Parameter("softmax/weight", {model_.vocabulary, width});
    const TensorId ids = p_.IdInput("softmax/ids", {words + model_.sampled});
    const TensorId rows = p_.Add("softmax/rows", "aten.embedding", {weight, ids});
    const TensorId right = p_.Reshape(p_.Slice(rows, 0, 0, words), {words, 1, width});
    const TensorId sampled = p_.Slice(rows, 0, words, model_.sampled);
    const TensorId right_score = p_.Add("softmax/right", "aten.bmm", {p_.Reshape(outputs, {words, 1, width}), right},
                                        {.transpose_b = true});  // [T B, 1, 1]
    const TensorId sampled_scores =
        p_.Add("softmax/sampled", "aten.mm", {p_.Reshape(outputs, {words, width}), sampled}, {.transpose_b = true});
    const TensorId scores =
        p_.Add("softmax/cat", "aten.cat", {p_.Reshape(right_score, {words, 1}), sampled_scores}, {.dim = 1});
    const TensorId log_probs = p_.Add("softmax/log_softmax", "aten._log_softmax", {scores});
    const TensorId zeros = p_.IdInput("softmax/zeros", {words});  // The right word is the first one everywhere.
    return p_.Add("loss", "aten.nll_loss_forward", {log_probs, zeros});
  }

  const RnnlmModel& model_;
  TensorProgram& p_;
};

}  // namespace

Ranges RnnlmRanges(bool small) {
  if (small) {
    return Ranges({{"layers", {2, 3}},
                   {"state", {128, 256, 64}},
                   {"projection", {64, 128, 64}},
                   {"batch", {8, 16}},
                   {"steps", {3, 5}},
                   {"vocabulary", {1000, 1000}},
                   {"sampled", {100, 100}}});
  }
  return Ranges({{"layers", {2, 6}},
                 {"state", {1024, 2560, 128}},
                 {"projection", {256, 640, 64}},
                 {"batch", {64, 256, 8}},
                 {"steps", {20, 40}},
                 {"vocabulary", {793471, 793471}},
                 {"sampled", {8192, 8192}}});
}

RnnlmModel SampleRnnlm(Rng& rng, const Ranges& ranges) {
  RnnlmModel model;
  model.layers = ranges.Draw("layers", rng);
  model.state = ranges.Draw("state", rng);
  model.projection = ranges.Draw("projection", rng);
  model.batch = ranges.Draw("batch", rng);
  model.steps = ranges.Draw("steps", rng);
  model.vocabulary = ranges.Draw("vocabulary", rng);
  model.sampled = ranges.Draw("sampled", rng);
  return model;
}

TensorProgram BuildRnnlm(const RnnlmModel& model, const StepOptions& options) {
  return BuildModelStep<RnnlmBuilder>(model, options, Optimizer::kSgd);
}

}  // namespace emplace
