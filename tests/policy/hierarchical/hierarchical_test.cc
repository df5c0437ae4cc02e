#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "policy/balanced_choice.h"
#include "policy/hierarchical/bins.h"
#include "policy/hierarchical/hierarchical_kind.h"
#include "policy/hierarchical/hierarchical_model.h"
#include "policy/hierarchical/hierarchical_player.h"
#include "policy/placer/policy_placer.h"
#include "policy/sample_choice.h"
#include "tests/policy/torch/gradient_check.h"
#include "tests/policy/torch/naive_parameters.h"
#include "tests/policy/torch/naive_sequence.h"
#include "tests/policy/torch/play_beside.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

PolicyWeights RandomHierarchical(int32_t num_devices, Rng& rng) {
  const PolicyConfig config{.kind = "hierarchical",
                            .initial = "",
                            .own = {{"grouper_hidden", rng.UniformInt(1, 6)},
                                    {"balanced", rng.Uniform() < 0.5},
                                    {"hidden", 2 * rng.UniformInt(1, 4)},
                                    {"tanh_constant", 0.5 * static_cast<double>(rng.UniformInt(1, 8))},
                                    {"temperature", 0.5 * static_cast<double>(rng.UniformInt(1, 4))},
                                    {"output_scale", 1.0}}};
  PolicyWeights weights;
  weights.shape = HierarchicalKind().Shape(config, num_devices);
  weights.values = HierarchicalKind().InitialValues(weights.shape, config, rng);
  for (float& value : weights.values) value += static_cast<float>(rng.Uniform(-0.2, 0.2));
  return weights;
}

// The bins that are used, in the order of their first group.
std::vector<uint8_t> NaiveBins(std::span<const uint8_t> bins) {
  std::vector<uint8_t> used;
  for (const uint8_t bin : bins) {
    if (std::ranges::find(used, bin) == used.end()) used.push_back(bin);
  }
  return used;
}

// What the placer reads, once more: the means of the groups' features, and logarithms of how many groups and edges
// there are.
std::vector<NaiveVector> NaiveItems(const GroupGraph& groups, std::span<const uint8_t> bins) {
  const std::vector<NaiveVector> of_groups = NaiveGroups(groups);
  std::vector<NaiveVector> items;
  for (const uint8_t bin : NaiveBins(bins)) {
    NaiveVector mean(kNumGroupFeatures);
    double members = 0;
    NaiveVector edges(static_cast<size_t>(NumBins(groups.num_devices)));
    for (int32_t group = 0; group < groups.num_groups; ++group) {
      if (bins[static_cast<size_t>(group)] != bin) continue;
      ++members;
      for (size_t f = 0; f < mean.size(); ++f) mean[f] += of_groups[static_cast<size_t>(group)][f];
      for (const Csr* neighbours : {&groups.parents, &groups.children}) {
        for (const int32_t other : neighbours->Row(group)) ++edges[bins[static_cast<size_t>(other)]];
      }
    }
    NaiveVector item;
    for (const double sum : mean) item.push_back(sum / members);
    item.push_back(std::log1p(members) / 5);
    for (const double count : edges) item.push_back(std::log1p(count) / 5);
    items.push_back(item);
  }
  return items;
}

// All logits of an episode with these decisions: of bins, and of devices as they are before any is not allowed.
std::vector<float> NaiveLogits(const PolicyWeights& weights, const GroupGraph& groups,
                               const std::vector<uint8_t>& actions) {
  const NaiveParameters parameters(HierarchicalKind().Parameters(weights.shape), weights.values);
  const auto n = static_cast<size_t>(groups.num_groups);
  std::vector<float> logits;
  for (const NaiveVector& group : NaiveGroups(groups)) {
    const NaiveVector hidden = NaiveParameters::Relu(parameters.Linear("grouper.hidden", group));
    for (const double x : parameters.Linear("grouper.output", hidden)) logits.push_back(static_cast<float>(x));
  }
  const auto bins = std::span(actions).first(n);
  const std::vector<uint8_t> used = NaiveBins(bins);
  const std::vector<uint8_t> devices(actions.begin() + static_cast<std::ptrdiff_t>(n), actions.end());
  const std::vector<NaiveVector> rows =
      NaiveSequence(HierarchicalPlacer(weights.shape), parameters).Logits(NaiveItems(groups, bins), devices);
  const auto num_bins = static_cast<size_t>(NumBins(groups.num_devices));
  for (size_t item = 0; item < rows.size(); ++item) {
    for (size_t choice = 0; choice < num_bins; ++choice) {
      bool allowed = false;
      for (size_t group = 0; group < n && choice < rows[item].size(); ++group) {
        allowed = allowed || (bins[group] == used[item] && groups.Allowed(group, choice));
      }
      logits.push_back(allowed ? static_cast<float>(rows[item][choice]) : -std::numeric_limits<float>::infinity());
    }
  }
  return logits;
}

TEST(Hierarchical, PlayerAndModelEqualTheNaiveNetwork) {
  for (uint64_t seed = 0; seed < Trials(30); ++seed) {
    Rng rng(seed);
    const std::vector<PlacementTask> tasks = {RandomTask(rng, {.max_ops = 20, .max_groups = 10, .restricted = 0.2})};
    const GroupGraph& groups = tasks[0].groups;
    const PolicyWeights weights = RandomHierarchical(groups.num_devices, rng);
    const std::unique_ptr<Player> player = MakeHierarchicalPlayer(weights.shape);
    player->SetWeights(weights);
    const std::unique_ptr<TaskView> view = player->View(tasks[0]);
    std::vector<Trajectory> episodes;
    std::vector<Sample> samples;
    std::vector<float> played;
    for (uint64_t e = 0; e < 3; ++e) {
      const Played one = PlayBeside(*player, *view, 0, 100 * seed + e);
      ASSERT_EQ(HierarchicalKind().CheckDecisions(tasks[0], one.trajectory), std::nullopt);
      std::vector<uint8_t> placed(one.placement.size());
      HierarchicalKind().PlacementAt(tasks[0], one.trajectory, 0, placed);
      ASSERT_EQ(placed, one.placement);
      const std::vector<float> naive = NaiveLogits(weights, groups, one.trajectory.actions);
      ASSERT_EQ(one.logits.size(), naive.size());
      for (size_t i = 0; i < naive.size(); ++i) {
        if (std::isinf(naive[i])) {
          ASSERT_EQ(one.logits[i], naive[i]) << "seed " << seed;
        } else {
          ASSERT_NEAR(one.logits[i], naive[i], 1e-4) << "seed " << seed;
        }
      }
      samples.push_back({episodes.size(), 0});
      episodes.push_back(one.trajectory);
      played.insert(played.end(), one.logits.begin(), one.logits.end());
    }
    // More samples than the model computes side by side, so the episodes come again.
    const size_t num_logits = played.size();
    while (samples.size() < 12 * episodes.size()) samples.push_back(samples[samples.size() - episodes.size()]);
    Decisions decisions;
    MakeHierarchicalModel(weights.shape, tasks, c10::DeviceType::CPU)
        ->Forward(weights.values, episodes, samples, decisions);
    ASSERT_EQ(decisions.blocks.size(), samples.size());
    ASSERT_EQ(decisions.logits.size(), 12 * num_logits);
    for (size_t i = 0; i < decisions.logits.size(); ++i) {
      const float expected = played[i % num_logits];
      if (std::isinf(expected)) {
        ASSERT_EQ(decisions.logits[i], expected);
      } else {
        ASSERT_NEAR(decisions.logits[i], expected, 1e-4) << "seed " << seed;
      }
    }
  }
}

TEST(Hierarchical, AnEpisodeHasTheSameBitsBesideOthers) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.max_ops = 20, .max_groups = 8});
    const PolicyWeights weights = RandomHierarchical(task.groups.num_devices, rng);
    const std::unique_ptr<Player> player = MakeHierarchicalPlayer(weights.shape);
    player->SetWeights(weights);
    ExpectSameBitsBesideOthers(*player, *player->View(task), seed);
  }
}

TEST(Hierarchical, AGreedyPlacementSharesTheBinsIfThePolicySaysSo) {
  int differ = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.max_ops = 30, .max_groups = 15, .restricted = 0.2});
    const auto n = static_cast<size_t>(task.groups.num_groups);
    const auto num_bins = static_cast<size_t>(NumBins(task.groups.num_devices));
    PolicyWeights weights = RandomHierarchical(task.groups.num_devices, rng);
    std::vector<std::vector<uint8_t>> placements;
    for (const bool balanced : {false, true}) {
      weights.shape.sizes["balanced"] = balanced ? 1 : 0;
      const std::unique_ptr<Player> player = MakeHierarchicalPlayer(weights.shape);
      player->SetWeights(weights);
      const std::unique_ptr<TaskView> view = player->View(task);
      const std::unique_ptr<PlayedEpisode> episode = player->Begin(*view, std::vector<uint8_t>(n, 0));
      const std::vector<PlayedEpisode*> wave = {episode.get()};
      Decisions decisions;
      player->Next(wave, decisions);
      std::vector<uint8_t> bins;
      BalancedChoice choice(num_bins);
      for (size_t group = 0; group < n; ++group) {
        const auto row = std::span<const float>(decisions.logits).subspan(group * num_bins, num_bins);
        bins.push_back(
            static_cast<uint8_t>(balanced ? choice.Next(row, task.groups.cost_us[group]) : GreedyChoice(row)));
      }
      player->Apply(wave, bins);
      // The devices of the bins are the most likely ones, each by itself.
      while (!episode->done()) {
        player->Next(wave, decisions);
        player->Apply(wave, std::vector<uint8_t>{static_cast<uint8_t>(GreedyChoice(decisions.logits))});
      }
      placements.push_back(PlaceWithPolicy(*player, task, {.samples = 0}).groups);
      const auto expected = episode->placement();
      ASSERT_EQ(placements.back(), std::vector<uint8_t>(expected.begin(), expected.end())) << "seed " << seed;
    }
    differ += placements[0] != placements[1] ? 1 : 0;
  }
  EXPECT_GT(differ, 5);
}

TEST(Hierarchical, GradientIsTheDerivative) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Rng rng(seed);
    const std::vector<PlacementTask> tasks = RandomTasks(rng, 2, 2, {.max_ops = 20, .max_groups = 8});
    const PolicyWeights weights = RandomHierarchical(2, rng);
    const std::unique_ptr<Player> player = MakeHierarchicalPlayer(weights.shape);
    player->SetWeights(weights);
    std::vector<Trajectory> episodes;
    std::vector<Sample> samples;
    for (size_t e = 0; e < 5; ++e) {
      const size_t graph = e / 3;
      const std::unique_ptr<TaskView> view = player->View(tasks[graph]);
      samples.push_back({episodes.size(), 0});
      episodes.push_back(PlayBeside(*player, *view, 0, e).trajectory);
      episodes.back().graph = static_cast<GraphId>(graph);
    }
    SCOPED_TRACE(seed);
    const std::unique_ptr<Model> model = MakeHierarchicalModel(weights.shape, tasks, c10::DeviceType::CPU);
    ExpectGradientIsTheDerivative(*model, weights.values, episodes, samples, rng);
  }
}

}  // namespace
}  // namespace emplace
