#include "tests/support/placeto_net.h"

#include <algorithm>
#include <limits>

#include "common/error.h"
#include "policy/placeto/placeto_features.h"
#include "policy/placeto/placeto_layout.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace {
namespace {

// [rows, rows] 1 where the column is in the row's list.
torch::Tensor Dense(const Csr& lists) {
  torch::Tensor matrix = torch::zeros({lists.rows(), lists.rows()});
  auto entries = matrix.accessor<float, 2>();
  for (int32_t row = 0; row < lists.rows(); ++row) {
    for (const int32_t column : lists.Row(row)) entries[row][column] = 1.0F;
  }
  return matrix;
}

}  // namespace

PlacetoBatch MakePlacetoBatch(const PlacetoGraph& graph, std::span<const PlacetoState> states,
                              const PlacetoShape& shape, torch::Device device) {
  EMPLACE_CHECK(graph.num_devices == shape.num_devices);
  const int64_t n = graph.num_nodes;
  const int64_t num_states = std::ssize(states);
  torch::Tensor features = torch::zeros({n, num_states, shape.num_features()});
  torch::Tensor ancestors = torch::zeros({n, num_states});
  torch::Tensor descendants = torch::zeros({n, num_states});
  torch::Tensor neither = torch::zeros({n, num_states});
  torch::Tensor current = torch::zeros({num_states}, torch::kInt64);
  torch::Tensor disallowed = torch::zeros({num_states, shape.num_devices}, torch::kBool);
  auto feature = features.accessor<float, 3>();
  auto ancestor = ancestors.accessor<float, 2>();
  auto descendant = descendants.accessor<float, 2>();
  auto other = neither.accessor<float, 2>();
  for (int64_t s = 0; s < num_states; ++s) {
    const PlacetoState& state = states[static_cast<size_t>(s)];
    EMPLACE_CHECK(state.graph == &graph && state.step >= 0 && state.step < graph.num_nodes);
    current.accessor<int64_t, 1>()[s] = state.step;
    for (int32_t d = 0; d < shape.num_devices; ++d) {
      disallowed.accessor<bool, 2>()[s][d] =
          graph.allowed[static_cast<size_t>(state.step * shape.num_devices + d)] == 0;
    }
    for (int32_t node = 0; node < graph.num_nodes; ++node) {
      const auto i = static_cast<size_t>(node);
      const NodeFacts facts{graph.cost[i], graph.bytes[i], graph.memory[i],  state.placement[i],
                            node,          state.step,     state.start_times};
      ForEachFeature(facts, shape.node_features(), [&](int32_t next, float value) { feature[node][s][next] = value; });
      if (node == state.step) continue;  // In none of the three sets.
      auto& set = graph.IsAncestor(state.step, node)     ? ancestor
                  : graph.IsDescendant(state.step, node) ? descendant
                                                         : other;
      set[node][s] = 1.0F;
    }
  }
  PlacetoBatch batch;
  batch.features = features.to(device);
  batch.parents = Dense(graph.parents).to(device);
  batch.children = Dense(graph.children).to(device);
  batch.ancestors = ancestors.to(device);
  batch.descendants = descendants.to(device);
  batch.neither = neither.to(device);
  batch.current = current.to(device);
  batch.disallowed = disallowed.to(device);
  return batch;
}

PlacetoNet::PlacetoNet(const PolicyWeights& weights, torch::Device device) : shape_(PlacetoShape::Of(weights.shape)) {
  const std::vector<LayerSpec> layers = PlacetoLayers(shape_);
  EMPLACE_CHECK(layers.size() == kNumLayers && layers[kDirections].name == "forward.f.0" &&
                layers[kPools].name == "ancestors.F.0" && layers[kClassifier].name == "classifier.0");
  for (const LayerSpec& layer : layers) {
    const auto zeros = torch::TensorOptions().device(device).requires_grad(true);
    weights_.push_back(torch::zeros({layer.out, layer.in}, zeros));
    biases_.push_back(torch::zeros({layer.out}, zeros));
  }
  SetValues(weights.values);
}

torch::Tensor PlacetoNet::Layer(int32_t layer, const torch::Tensor& x) const {
  return at::linear(x, weights_[static_cast<size_t>(layer)], biases_[static_cast<size_t>(layer)]);
}

std::vector<torch::Tensor> PlacetoNet::Parameters() const {
  std::vector<torch::Tensor> parameters;
  for (size_t layer = 0; layer < weights_.size(); ++layer) {
    parameters.push_back(weights_[layer]);
    parameters.push_back(biases_[layer]);
  }
  return parameters;
}

void PlacetoNet::ZeroGradient() {
  for (torch::Tensor& parameter : Parameters()) parameter.mutable_grad().reset();
}

torch::Tensor PlacetoNet::Forward(const PlacetoBatch& batch) const {
  const int64_t n = batch.features.size(0);
  const int64_t num_states = batch.features.size(1);
  // relu of the two layers from `first` on: f, g, F and G.
  const auto mlp = [this](int32_t first, const torch::Tensor& x) {
    return torch::relu(Layer(first + 1, torch::relu(Layer(first, x))));
  };
  // [n, S, m]
  const torch::Tensor self = Layer(kSelf + 2, torch::relu(Layer(kSelf + 1, torch::relu(Layer(kSelf, batch.features)))));

  const auto pass_messages = [&](const torch::Tensor& neighbours, int32_t direction) {
    const int32_t f = kDirections + direction * kLayersPerDirection;
    const int32_t g = f + 2;
    const torch::Tensor hears = neighbours.any(1).to(torch::kFloat32).view({n, 1, 1});
    torch::Tensor x = self;
    for (int32_t round = 0; round < shape_.message_rounds; ++round) {
      const torch::Tensor messages = mlp(f, x).view({n, num_states * shape_.width()});
      const torch::Tensor sums = neighbours.matmul(messages).view({n, num_states, shape_.width()});
      x = self + mlp(g, sums) * hears;
    }
    return x;
  };
  const torch::Tensor embedding = torch::cat({pass_messages(batch.parents, 0), pass_messages(batch.children, 1)},
                                             2);  // [n, S, 2m]

  const auto pool = [&](const torch::Tensor& members, int32_t set) {
    const int32_t inner = kPools + set * kLayersPerPool;
    if (!shape_.pooling) return embedding.new_zeros({num_states, shape_.embedding_width()});
    return mlp(inner + 2, (mlp(inner, embedding) * members.unsqueeze(2)).sum(0));
  };
  const torch::Tensor index = batch.current.view({1, num_states, 1}).expand({1, num_states, shape_.embedding_width()});
  const torch::Tensor own = embedding.gather(0, index).squeeze(0);  // [S, 2m]
  const torch::Tensor pooled =
      torch::cat({pool(batch.ancestors, 0), pool(batch.descendants, 1), pool(batch.neither, 2), own},
                 1);  // [S, D]
  const torch::Tensor logits =
      Layer(kClassifier + 2, torch::relu(Layer(kClassifier + 1, torch::relu(Layer(kClassifier, pooled)))));
  return logits.masked_fill(batch.disallowed, -std::numeric_limits<float>::infinity());
}

void PlacetoNet::SetValues(std::span<const float> values) {
  EMPLACE_CHECK(std::ssize(values) == NumParameters(shape_));
  const torch::NoGradGuard no_grad;
  const auto take = [&values](torch::Tensor& parameter) {
    const auto count = static_cast<size_t>(parameter.numel());
    torch::Tensor from = torch::empty(parameter.sizes());
    std::copy_n(values.begin(), count, from.data_ptr<float>());
    parameter.copy_(from);
    values = values.subspan(count);
  };
  for (torch::Tensor& parameter : Parameters()) take(parameter);
}

std::vector<float> PlacetoNet::Values() const {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(NumParameters(shape_)));
  const auto append = [&values](const torch::Tensor& parameter) {
    const torch::Tensor host = parameter.detach().to(torch::kCPU).contiguous();
    values.insert(values.end(), host.data_ptr<float>(), host.data_ptr<float>() + host.numel());
  };
  for (const torch::Tensor& parameter : Parameters()) append(parameter);
  return values;
}

}  // namespace emplace
