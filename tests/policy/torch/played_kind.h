// Policies of every kind on LibTorch, and episodes that they have played, for tests of what is the same for all kinds.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

#include "policy/policy_kinds.h"
#include "policy/torch/torch_kinds.h"
#include "tests/policy/torch/play_beside.h"
#include "tests/support/random_task.h"

namespace emplace {

inline void PrintTo(const TorchKindEntry& kind, std::ostream* out) { *out << kind.name; }

// A policy of the default sizes with random parameters, and episodes on graphs for three devices, one after the other.
struct PlayedKind {
  PlayedKind(const TorchKindEntry& kind, uint64_t seed) {
    Rng rng(seed);
    tasks = RandomTasks(rng, 3, 3, {.max_ops = 30, .max_groups = 12, .restricted = 0.2});
    const PolicyConfig config{.kind = kind.name, .initial = "", .own = {}};
    weights.shape = FindPolicyKind(kind.name).Shape(config, 3);
    weights.values = FindPolicyKind(kind.name).InitialValues(weights.shape, config, rng);
    for (float& value : weights.values) value += static_cast<float>(rng.Uniform(-0.05, 0.05));
    const std::unique_ptr<Player> player = kind.make_player(weights.shape);
    player->SetWeights(weights);
    for (const GraphId graph : {0U, 0U, 2U, 1U, 1U}) {
      const std::unique_ptr<TaskView> view = player->View(tasks[graph]);
      Trajectory episode = PlayBeside(*player, *view, 0, 100 * seed + episodes.size()).trajectory;
      episode.graph = graph;
      samples.push_back({episodes.size(), 0});
      episodes.push_back(std::move(episode));
    }
  }

  std::vector<PlacementTask> tasks;
  PolicyWeights weights;
  std::vector<Trajectory> episodes;
  std::vector<Sample> samples;
};

// What a model computes in an update.
struct ComputedUpdate {
  Decisions decisions;
  std::vector<float> gradient;  // [parameters], of sum(logits * c) for numbers c that do not depend on the model.
};

inline ComputedUpdate ComputeUpdate(Model& model, const PlayedKind& played) {
  ComputedUpdate update;
  model.Forward(played.weights.values, played.episodes, played.samples, update.decisions);
  std::vector<float> c;
  for (const float logit : update.decisions.logits) {
    c.push_back(std::isinf(logit) ? 0.0F : std::sin(static_cast<float>(c.size())));
  }
  update.gradient.resize(played.weights.values.size());
  model.Backward(c, update.gradient);
  return update;
}

// The values differ by at most `tolerance` times the largest of those expected.
inline void ExpectNear(const std::vector<float>& values, const std::vector<float>& expected, double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  double largest = 0;
  for (const float value : expected) {
    if (!std::isinf(value)) largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  EXPECT_GT(largest, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isinf(expected[i])) {
      ASSERT_EQ(values[i], expected[i]) << i;
    } else {
      ASSERT_NEAR(values[i], expected[i], tolerance * largest) << i;
    }
  }
}

}  // namespace emplace
