#include "tests/support/torch_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"
#include "policy/policy_weights.h"

namespace emplace {

torch::Tensor TorchForward(PlacetoNet& net, const RandomBatch& batch) {
  std::vector<torch::Tensor> rows(batch.states.size());
  for (size_t g = 0; g < batch.graphs.size(); ++g) {
    std::deque<std::vector<uint8_t>> placements;
    std::vector<PlacetoState> states;
    std::vector<size_t> places;
    for (size_t s = 0; s < batch.states.size(); ++s) {
      const int32_t step = batch.states[s].step;
      const RandomBatch::Episode& episode = batch.episodes[static_cast<size_t>(batch.states[s].episode)];
      if (episode.graph != static_cast<int32_t>(g)) continue;
      placements.push_back(episode.start);
      std::copy_n(episode.actions.begin(), step, placements.back().begin());
      states.push_back({&batch.graphs[g], placements.back().data(), step});
      places.push_back(s);
    }
    if (states.empty()) continue;
    const torch::Tensor logits = net.Forward(MakePlacetoBatch(batch.graphs[g], states, net.shape(), torch::kCPU));
    for (size_t i = 0; i < places.size(); ++i) rows[places[i]] = logits[static_cast<int64_t>(i)];
  }
  return torch::stack(rows);
}

std::vector<float> Flat(const torch::Tensor& tensor) {
  const torch::Tensor host = tensor.detach().contiguous();
  return {host.data_ptr<float>(), host.data_ptr<float>() + host.numel()};
}

std::vector<float> TorchGradient(const PlacetoNet& net) {
  std::vector<float> gradient;
  for (const torch::Tensor& parameter : net.Parameters()) {
    const std::vector<float> part = Flat(parameter.grad().defined() ? parameter.grad() : torch::zeros_like(parameter));
    gradient.insert(gradient.end(), part.begin(), part.end());
  }
  return gradient;
}

void ExpectLogits(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isinf(expected[i])) {
      EXPECT_EQ(actual[i], expected[i]);
    } else {
      EXPECT_NEAR(actual[i], expected[i], 1e-5F * (1 + std::abs(expected[i])));
    }
  }
}

void ExpectGradient(const PlacetoShape& shape, const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  size_t next = 0;
  for (const LayerSpec& layer : PlacetoLayers(shape)) {
    for (const int64_t count : {int64_t{layer.in} * layer.out, int64_t{layer.out}}) {
      float largest = 0;
      float error = 0;
      for (int64_t i = 0; i < count; ++i, ++next) {
        ASSERT_TRUE(std::isfinite(actual[next])) << layer.name;
        largest = std::max(largest, std::abs(expected[next]));
        error = std::max(error, std::abs(actual[next] - expected[next]));
      }
      EXPECT_LE(error, 1e-4F * largest + 1e-6F) << layer.name << (count == layer.out ? " bias" : " weight");
    }
  }
}

TorchLoss LossByTorch(const PolicyWeights& weights, const RandomBatch& batch, const gpu::UpdateScalars& scalars) {
  PlacetoNet net(weights);
  std::vector<int64_t> actions;
  std::vector<float> advantage;
  std::vector<float> behaviour;
  std::vector<float> lags;
  for (const gpu::StateEntry& state : batch.states) {
    actions.push_back(batch.episodes[static_cast<size_t>(state.episode)].actions[static_cast<size_t>(state.step)]);
    advantage.push_back(state.advantage);
    behaviour.push_back(state.behaviour_log_prob);
    lags.push_back(state.lag);
  }
  const torch::Tensor log_probs = torch::log_softmax(TorchForward(net, batch), 1);
  const torch::Tensor chosen = log_probs.gather(1, torch::tensor(actions).unsqueeze(1)).squeeze(1);
  const torch::Tensor ratio = ((chosen.detach() - torch::tensor(behaviour)) * torch::tensor(lags)).exp();
  const torch::Tensor finite = log_probs.masked_fill(log_probs.isinf(), 0.0);
  const torch::Tensor entropy = -(log_probs.exp() * finite).sum(1);
  const torch::Tensor weighted = ratio.clamp_max(scalars.importance_clip) * torch::tensor(advantage) * chosen;
  const torch::Tensor loss = -(weighted + scalars.entropy_weight * entropy).mean();
  loss.backward();
  return {loss.item<double>(), entropy.mean().item<double>(), ratio.mean().item<double>(), TorchGradient(net)};
}

}  // namespace emplace
