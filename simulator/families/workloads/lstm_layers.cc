#include "simulator/families/workloads/lstm_layers.h"

namespace emplace {
namespace {

constexpr const char* kGateNames[kLstmGates] = {"in", "candidate", "forget", "out"};

}  // namespace

std::vector<TensorId> EmbedWords(TensorProgram& program, const std::string& sentence, int64_t vocabulary, int64_t width,
                                 int64_t steps, int64_t batch) {
  const TensorId weight = program.Parameter(sentence + "/embedding", {vocabulary, width});
  const TensorId tokens = program.IdInput(sentence + "/tokens", {steps, batch});
  const TensorId all = program.Add(sentence + "/words", "aten.embedding", {weight, tokens});
  std::vector<TensorId> words;
  for (int64_t t = 0; t < steps; ++t) words.push_back(program.Slice(all, 0, t, 1, /*drop_dim=*/true));
  return words;
}

TensorId AddStepLoss(TensorProgram& program, const std::string& name, TensorId logits, TensorId labels, int64_t step,
                     TensorId before) {
  const TensorId log_probs = program.Add(name + "softmax/log_softmax", "aten._log_softmax", {logits});
  const TensorId label = program.Slice(labels, 0, step, 1, /*drop_dim=*/true);
  const TensorId loss = program.Add(name + "loss/nll", "aten.nll_loss_forward", {log_probs, label});
  return before < 0 ? loss : program.Add(name + "loss/sum", "aten.add", {before, loss});
}

LstmState ApplyLstmGates(TensorProgram& program, const std::string& name, const std::array<TensorId, kLstmGates>& gates,
                         TensorId memory) {
  std::array<TensorId, kLstmGates> active{};
  for (size_t i = 0; i < active.size(); ++i) {
    const bool candidate = i == 1;
    active[i] = program.Add(name + kGateNames[i], candidate ? "aten.tanh" : "aten.sigmoid", {gates[i]});
  }
  const auto [in, candidate, forget, out] = active;
  const TensorId keep = program.Add(name + "keep", "aten.mul", {forget, memory});
  const TensorId write = program.Add(name + "write", "aten.mul", {in, candidate});
  const TensorId c = program.Add(name + "c", "aten.add", {keep, write});
  const TensorId squash = program.Add(name + "squash", "aten.tanh", {c});
  return {program.Add(name + "h", "aten.mul", {out, squash}), c};
}

LstmLayer::LstmLayer(TensorProgram& program, const std::string& name, int64_t input, int64_t state, int64_t projection)
    : program_(program) {
  const int64_t output = projection > 0 ? projection : state;
  for (size_t i = 0; i < gates_.size(); ++i) {
    const std::string gate = name + "/" + kGateNames[i];
    gates_[i] = {program.Parameter(gate + "/x_weight", {input, state}),
                 program.Parameter(gate + "/h_weight", {output, state}), program.Parameter(gate + "/bias", {state})};
  }
  if (projection > 0) projection_ = program.Parameter(name + "/projection", {state, projection});
}

LstmState LstmLayer::Step(const std::string& name, TensorId x, const LstmState& before) const {
  std::array<TensorId, kLstmGates> gates{};
  for (size_t i = 0; i < gates.size(); ++i) {
    const std::string gate = name + "/" + kGateNames[i];
    const TensorId from_x = program_.Add(gate + "/x", "aten.addmm", {gates_[i].bias, x, gates_[i].x_weight});
    const TensorId from_h = program_.Add(gate + "/h", "aten.mm", {before.h, gates_[i].h_weight});
    gates[i] = program_.Add(gate + "/sum", "aten.add", {from_x, from_h});
  }
  LstmState state = ApplyLstmGates(program_, name + "/", gates, before.c);
  if (projection_ >= 0) state.h = program_.Add(name + "/projected", "aten.mm", {state.h, projection_});
  return state;
}

}  // namespace emplace
