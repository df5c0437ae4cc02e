#include "policy/torch/sequence_network.h"

#include <torch/torch.h>

#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "policy/torch/parameters.h"

namespace emplace {
namespace {

using torch::Tensor;

// Weights and biases of an LSTM as LibTorch takes them.
std::vector<Tensor> Lstm(const TorchParameters& parameters, const std::string& name) {
  return {parameters[name + ".input.weight"], parameters[name + ".state.weight"], parameters[name + ".input.bias"],
          parameters[name + ".state.bias"]};
}

// The encoder's LSTM, in both directions.
std::vector<Tensor> Encoder(const TorchParameters& parameters) {
  std::vector<Tensor> both = Lstm(parameters, "encoder.forward");
  for (const Tensor& tensor : Lstm(parameters, "encoder.backward")) both.push_back(tensor);
  return both;
}

// The mean of the items that these scores [B, n] weigh: [B, H].
Tensor Attended(const EncodedSequence& encoded, const Tensor& scores) {
  if (!encoded.beyond.defined()) return torch::matmul(torch::softmax(scores, 1), encoded.items[0]);
  const Tensor weights = torch::softmax(scores.masked_fill(encoded.beyond, -std::numeric_limits<float>::infinity()), 1);
  return torch::bmm(weights.unsqueeze(1), encoded.items).squeeze(1);
}

}  // namespace

EncodedSequence SequenceNetwork::Encode(const TorchParameters& parameters, const Tensor& items) const {
  const Tensor x = torch::relu(Linear(parameters, "input", items)).unsqueeze(1);  // [n, 1, H]
  const Tensor zeros = torch::zeros({2, 1, shape_.hidden / 2}, x.options());
  const Tensor read = std::get<0>(torch::lstm(x, {zeros, zeros}, Encoder(parameters), /*has_biases=*/true,
                                              /*num_layers=*/1, /*dropout=*/0.0, /*train=*/false,
                                              /*bidirectional=*/true, /*batch_first=*/false));
  EncodedSequence encoded;
  encoded.items = read.squeeze(1).unsqueeze(0);
  encoded.keys = Linear(parameters, "attention.key", encoded.items);
  return encoded;
}

EncodedSequence SequenceNetwork::Encode(const TorchParameters& parameters, const std::vector<Tensor>& sequences) const {
  std::vector<int64_t> lengths;
  for (const Tensor& items : sequences) lengths.push_back(items.size(0));
  const auto count = static_cast<int64_t>(lengths.size());
  const Tensor all_lengths = torch::tensor(lengths);  // Packing wants them on the CPU.
  const Tensor padded = at::pad_sequence(sequences).to(parameters.device());
  const Tensor x = torch::relu(Linear(parameters, "input", padded));  // [n, S, H]
  // Packed, so that the backward half starts at the end of each sequence.
  const auto [packed, at_once] = at::_pack_padded_sequence(x, all_lengths, /*batch_first=*/false);
  const Tensor zeros = torch::zeros({2, count, shape_.hidden / 2}, x.options());
  const Tensor read =
      std::get<0>(torch::lstm(packed, at_once, {zeros, zeros}, Encoder(parameters), /*has_biases=*/true,
                              /*num_layers=*/1, /*dropout=*/0.0, /*train=*/false, /*bidirectional=*/true));
  EncodedSequence encoded;
  encoded.items = std::get<0>(at::_pad_packed_sequence(read, at_once, /*batch_first=*/true, /*padding_value=*/0.0,
                                                       /*total_length=*/lengths.front()));
  encoded.keys = Linear(parameters, "attention.key", encoded.items);
  encoded.beyond = (torch::arange(lengths.front()).unsqueeze(0) >= all_lengths.unsqueeze(1)).to(x.device());
  return encoded;
}

DecoderState SequenceNetwork::Start(const EncodedSequence& encoded, int64_t episodes) const {
  const Tensor zeros = torch::zeros({episodes, shape_.hidden}, encoded.items.options());
  return {zeros, zeros};
}

Tensor SequenceNetwork::Step(const TorchParameters& parameters, const EncodedSequence& encoded, int64_t item,
                             const Tensor& before, DecoderState& state) const {
  const Tensor own = encoded.items.select(1, item).expand({before.size(0), shape_.hidden});
  const Tensor input = torch::cat({parameters["device.weight"].index_select(0, before), own}, 1);
  const std::vector<Tensor> lstm = Lstm(parameters, "decoder");
  std::tie(state.hidden, state.cell) =
      torch::lstm_cell(input, {state.hidden, state.cell}, lstm[0], lstm[1], lstm[2], lstm[3]);
  // Bahdanau et al. 2015, section 3.1: additive attention.
  const Tensor query = Linear(parameters, "attention.query", state.hidden).unsqueeze(1);   // [B, 1, H]
  const Tensor compared = torch::tanh(encoded.keys + query);                               // [B, n, H]
  const Tensor scores = torch::matmul(compared, parameters["attention.score.weight"][0]);  // [B, n]
  const Tensor context = Attended(encoded, scores);                                        // [B, H]
  const Tensor x = Linear(parameters, "output", torch::cat({state.hidden, context}, 1));   // [B, D]
  return shape_.tanh_constant * torch::tanh(x / shape_.temperature);
}

Tensor SequenceNetwork::Replay(const TorchParameters& parameters, const EncodedSequence& encoded,
                               std::span<const std::span<const uint8_t>> chosen) const {
  const int64_t n = encoded.items.size(1);
  Tensor before = torch::zeros({n, std::ssize(chosen)}, torch::kInt64);
  auto rows = before.accessor<int64_t, 2>();
  for (int64_t e = 0; e < std::ssize(chosen); ++e) {
    const std::span<const uint8_t> devices = chosen[static_cast<size_t>(e)];
    rows[0][e] = shape_.num_devices;
    for (int64_t item = 1; item < n && item <= std::ssize(devices); ++item) {
      rows[item][e] = devices[static_cast<size_t>(item - 1)];
    }
  }
  before = before.to(parameters.device());  // All at once: a copy for each item would be a wait for each.
  DecoderState state = Start(encoded, std::ssize(chosen));
  std::vector<Tensor> logits;
  for (int64_t item = 0; item < n; ++item) {
    logits.push_back(Step(parameters, encoded, item, before[item], state));
  }
  return torch::stack(logits, 1);
}

}  // namespace emplace
