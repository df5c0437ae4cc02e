#include "policy/torch/sequence_network.h"

#include <torch/torch.h>

#include <string>
#include <tuple>
#include <vector>

#include "policy/torch/layers.h"

namespace emplace {
namespace {

using torch::Tensor;

// Weights and biases of an LSTM as LibTorch takes them.
std::vector<Tensor> Lstm(const TorchParameters& parameters, const std::string& name) {
  return {parameters[name + ".input.weight"], parameters[name + ".state.weight"], parameters[name + ".input.bias"],
          parameters[name + ".state.bias"]};
}

}  // namespace

EncodedSequence SequenceNetwork::Encode(const TorchParameters& parameters, const Tensor& items) const {
  const Tensor x = torch::relu(Linear(parameters, "input", items)).unsqueeze(1);  // [n, 1, H]
  std::vector<Tensor> both = Lstm(parameters, "encoder.forward");
  for (const Tensor& tensor : Lstm(parameters, "encoder.backward")) both.push_back(tensor);
  const Tensor zeros = torch::zeros({2, 1, shape_.hidden / 2});
  const Tensor read = std::get<0>(torch::lstm(x, {zeros, zeros}, both, /*has_biases=*/true, /*num_layers=*/1,
                                              /*dropout=*/0.0, /*train=*/false, /*bidirectional=*/true,
                                              /*batch_first=*/false));
  EncodedSequence encoded;
  encoded.items = read.squeeze(1);
  encoded.keys = Linear(parameters, "attention.key", encoded.items);
  return encoded;
}

DecoderState SequenceNetwork::Start(int64_t episodes) const {
  const Tensor zeros = torch::zeros({episodes, shape_.hidden});
  return {zeros, zeros};
}

Tensor SequenceNetwork::Step(const TorchParameters& parameters, const EncodedSequence& encoded, int64_t item,
                             const Tensor& before, DecoderState& state) const {
  const Tensor own = encoded.items[item].unsqueeze(0).expand({before.size(0), shape_.hidden});
  const Tensor input = torch::cat({parameters["device.weight"].index_select(0, before), own}, 1);
  const std::vector<Tensor> lstm = Lstm(parameters, "decoder");
  std::tie(state.hidden, state.cell) =
      torch::lstm_cell(input, {state.hidden, state.cell}, lstm[0], lstm[1], lstm[2], lstm[3]);
  // Bahdanau et al. 2015, section 3.1: additive attention.
  const Tensor query = Linear(parameters, "attention.query", state.hidden).unsqueeze(1);   // [B, 1, H]
  const Tensor compared = torch::tanh(encoded.keys.unsqueeze(0) + query);                  // [B, n, H]
  const Tensor scores = torch::matmul(compared, parameters["attention.score.weight"][0]);  // [B, n]
  const Tensor context = torch::matmul(torch::softmax(scores, 1), encoded.items);          // [B, H]
  const Tensor x = Linear(parameters, "output", torch::cat({state.hidden, context}, 1));   // [B, D]
  return 0.1 * shape_.tanh_tenths * torch::tanh(x / (0.1 * shape_.temperature_tenths));
}

}  // namespace emplace
