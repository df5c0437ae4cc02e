#include "policy/rnn/rnn_network.h"

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

RnnEncoded RnnNetwork::Encode(const TorchParameters& parameters, const GroupTensors& graph) const {
  const Tensor x = torch::relu(Linear(parameters, "input", graph.nodes)).unsqueeze(1);  // [n, 1, H]
  std::vector<Tensor> both = Lstm(parameters, "encoder.forward");
  for (const Tensor& tensor : Lstm(parameters, "encoder.backward")) both.push_back(tensor);
  const Tensor zeros = torch::zeros({2, 1, shape_.hidden / 2});
  const Tensor read = std::get<0>(torch::lstm(x, {zeros, zeros}, both, /*has_biases=*/true, /*num_layers=*/1,
                                              /*dropout=*/0.0, /*train=*/false, /*bidirectional=*/true,
                                              /*batch_first=*/false));
  RnnEncoded encoded;
  encoded.groups = read.squeeze(1);
  encoded.keys = Linear(parameters, "attention.key", encoded.groups);
  return encoded;
}

RnnState RnnNetwork::Start(int64_t episodes) const {
  const Tensor zeros = torch::zeros({episodes, shape_.hidden});
  return {zeros, zeros};
}

Tensor RnnNetwork::Step(const TorchParameters& parameters, const RnnEncoded& encoded, int64_t group,
                        const Tensor& before, RnnState& state) const {
  const Tensor own = encoded.groups[group].unsqueeze(0).expand({before.size(0), shape_.hidden});
  const Tensor input = torch::cat({parameters["device.weight"].index_select(0, before), own}, 1);
  const std::vector<Tensor> lstm = Lstm(parameters, "decoder");
  std::tie(state.hidden, state.cell) =
      torch::lstm_cell(input, {state.hidden, state.cell}, lstm[0], lstm[1], lstm[2], lstm[3]);
  // Bahdanau et al. 2015, section 3.1: additive attention.
  const Tensor query = Linear(parameters, "attention.query", state.hidden).unsqueeze(1);   // [B, 1, H]
  const Tensor compared = torch::tanh(encoded.keys.unsqueeze(0) + query);                  // [B, n, H]
  const Tensor scores = torch::matmul(compared, parameters["attention.score.weight"][0]);  // [B, n]
  const Tensor context = torch::matmul(torch::softmax(scores, 1), encoded.groups);         // [B, H]
  const Tensor x = Linear(parameters, "output", torch::cat({state.hidden, context}, 1));   // [B, D]
  return 0.1 * shape_.tanh_tenths * torch::tanh(x / (0.1 * shape_.temperature_tenths));
}

}  // namespace emplace
