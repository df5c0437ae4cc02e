// The loss of each state and its gradient with respect to the logits :
//   -(importance * advantage * log pi(action) + entropy_weight * entropy) / states
// with importance = min(clip, pi / behaviour) where an older version chose the action, else exactly 1.
#pragma once

#include <cmath>

#include "policy/placeto/cuda/state_view.h"
#include "policy/placeto/cuda/workspace.h"

namespace emplace::gpu {

struct LossKernel {
  static constexpr const char* kName = "loss";

  PlacetoPlan plan;
  BatchView batch;
  Workspace work;

  template <typename Block>
  EMPLACE_DEVICE void operator()(Block& block) const {
    block.ForEachInGrid(batch.scalars->num_states, [&](int32_t state) { State(state); });
  }

 private:
  EMPLACE_DEVICE void State(int32_t state) const {
    const UpdateScalars& scalars = *batch.scalars;
    const StateEntry entry = batch.states[state];
    const int32_t action = batch.actions[batch.episodes[entry.episode].step + entry.step];
    const float* const logits = work.head.logits + static_cast<int64_t>(state) * plan.devices_padded;
    float* const gradient = work.head.d_logits + static_cast<int64_t>(state) * plan.devices_padded;
    const auto total = static_cast<float>(scalars.num_states);

    float largest = -INFINITY;
    for (int32_t d = 0; d < plan.num_devices; ++d) largest = logits[d] > largest ? logits[d] : largest;
    float sum = 0.0F;
    for (int32_t d = 0; d < plan.num_devices; ++d) sum += std::exp(logits[d] - largest);
    const float log_sum = largest + std::log(sum);
    // A device that is not allowed has probability 0 and adds nothing.
    float entropy = 0.0F;
    for (int32_t d = 0; d < plan.num_devices; ++d) {
      const float log_prob = logits[d] - log_sum;
      if (log_prob > -INFINITY) entropy -= std::exp(log_prob) * log_prob;
    }
    const float chosen = logits[action] - log_sum;
    const float ratio = std::exp((chosen - entry.behaviour_log_prob) * entry.lag);
    const float importance = ratio > scalars.importance_clip ? scalars.importance_clip : ratio;
    const float weight = importance * entry.advantage;
    for (int32_t d = 0; d < plan.devices_padded; ++d) {
      float value = 0.0F;
      if (d < plan.num_devices && !(logits[d] == -INFINITY)) {
        const float log_prob = logits[d] - log_sum;
        const float prob = std::exp(log_prob);
        value = (weight * (prob - (d == action ? 1.0F : 0.0F)) + scalars.entropy_weight * prob * (log_prob + entropy)) /
                total;
      }
      gradient[d] = value;
    }
    work.state_loss[state] = -(weight * chosen) - scalars.entropy_weight * entropy;
    work.state_entropy[state] = entropy;
    work.state_ratio[state] = ratio;
  }
};

}  // namespace emplace::gpu
