#include "actor/rollout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "policy/placeto/kernel/placeto_kernel.h"
#include "policy/placeto/placeto_graph.h"
#include "simulator/environment/simulated_measure.h"
#include "tests/actor/small_tasks.h"

namespace emplace {
namespace {

constexpr ActorKey kActor{5, 2};

std::vector<Trajectory> Collect(Rollout& rollout, size_t count) {
  std::vector<Trajectory> all;
  while (all.size() < count) {
    for (Trajectory& trajectory : rollout.Advance()) all.push_back(std::move(trajectory));
  }
  return all;
}

bool Same(const Trajectory& a, const Trajectory& b) {
  return a.graph == b.graph && a.start_placement == b.start_placement && a.actions == b.actions &&
         a.behaviour_log_prob == b.behaviour_log_prob && a.rho == b.rho && a.policy_version == b.policy_version;
}

TEST(Rollout, SizesAndHeaderFit) {
  const auto tasks = SmallTasks(1, 5);
  Rollout rollout(tasks, {}, 3, kActor, Rng(1));
  rollout.SetWeights(SmallWeights(1, 17));
  int64_t steps = 0;
  std::set<GraphId> graphs;
  for (const Trajectory& trajectory : Collect(rollout, 60)) {
    ASSERT_LT(trajectory.graph, tasks.size());
    const GroupGraph& groups = tasks[trajectory.graph].groups;
    const auto n = static_cast<size_t>(groups.num_groups);
    EXPECT_EQ(trajectory.start_placement.size(), n);
    EXPECT_EQ(trajectory.actions.size(), n);
    EXPECT_EQ(trajectory.behaviour_log_prob.size(), n);
    EXPECT_EQ(trajectory.rho.size(), n + 1);
    for (size_t g = 0; g < n; ++g) {
      EXPECT_TRUE(groups.Allowed(g, trajectory.start_placement[g]));
      EXPECT_TRUE(groups.Allowed(g, trajectory.actions[g]));
    }
    EXPECT_EQ(trajectory.actor, kActor);
    EXPECT_EQ(trajectory.policy_version, 17U);
    steps += static_cast<int64_t>(n);
    graphs.insert(trajectory.graph);
  }
  EXPECT_EQ(graphs.size(), tasks.size());  // 60 uniform draws miss one of 5 with probability 5 * 0.8^60 = 8e-6.
  EXPECT_GE(rollout.steps(), steps);
}

TEST(Rollout, IsDeterministicForASeed) {
  const auto tasks = SmallTasks(2, 4);
  const auto run = [&](uint64_t seed) {
    Rollout rollout(tasks, {}, 4, kActor, Rng(seed));
    rollout.SetWeights(SmallWeights(1, 0));
    return Collect(rollout, 24);
  };
  const auto first = run(7), again = run(7), other = run(8);
  ASSERT_EQ(first.size(), again.size());
  size_t equal_to_other = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(Same(first[i], again[i]));
    if (i < other.size() && Same(first[i], other[i])) ++equal_to_other;
  }
  EXPECT_LT(equal_to_other, first.size());
}

// What an episode draws does not depend on how many others are in its wave.
TEST(Rollout, SmallWavesPlayTheSameEpisodes) {
  const auto tasks = SmallTasks(2, 4);
  Rollout whole(tasks, {}, 4, kActor, Rng(7)), parts(tasks, {}, 4, kActor, Rng(7));
  whole.SetWeights(SmallWeights(1, 0));
  parts.SetWeights(SmallWeights(1, 0));
  std::vector<Trajectory> expected = Collect(whole, 24), played;
  Rng rng(3);
  while (played.size() < 24) {
    const auto most = static_cast<size_t>(rng.UniformInt(1, 9));
    const size_t before = played.size();
    do {
      for (Trajectory& trajectory : parts.Advance(most)) played.push_back(std::move(trajectory));
    } while (!parts.idle());
    EXPECT_EQ(played.size() - before, std::min<size_t>(most, 4));
  }
  // Episodes of a wave end in the order of their lengths, so they are compared as a set.
  for (const Trajectory& episode : std::span(expected).first(24)) {
    EXPECT_TRUE(std::ranges::any_of(played, [&](const Trajectory& other) { return Same(episode, other); }));
  }
}

// All episodes of version 3, played by rollouts that play so many of them beside each other, in a random order, and
// other things before.
std::vector<Trajectory> PlayLockstep(const std::vector<PlacementTask>& tasks, int64_t beside, uint64_t order) {
  constexpr uint32_t kEpisodes = 24;
  EnvironmentConfig environment;
  environment.start = Start::kRandom;
  Rng rng(order);
  std::vector<uint32_t> indices(kEpisodes);
  for (uint32_t i = 0; i < kEpisodes; ++i) indices[i] = i;
  for (uint32_t i = kEpisodes - 1; i > 0; --i)
    std::swap(indices[i], indices[static_cast<size_t>(rng.UniformInt(0, i))]);
  Rollout rollout(tasks, environment, beside, {static_cast<uint32_t>(order), 2}, Rng(order));
  rollout.SetWeights(SmallWeights(9, 2));
  Collect(rollout, static_cast<size_t>(rng.UniformInt(1, 9)));
  rollout.SetWeights(SmallWeights(1, 3));
  std::vector<Trajectory> played(kEpisodes);
  while (!indices.empty()) {
    std::vector<uint32_t> wave;
    const int64_t count = rng.UniformInt(1, std::min<int64_t>(beside, std::ssize(indices)));
    for (int64_t i = 0; i < count; ++i) {
      wave.push_back(indices.back());
      indices.pop_back();
    }
    rollout.StartLockstep(wave, /*seed=*/5);
    while (!rollout.idle()) {
      for (Trajectory& trajectory : rollout.Advance()) {
        const uint32_t index = trajectory.index;
        EXPECT_NE(std::find(wave.begin(), wave.end(), index), wave.end());
        played[index] = std::move(trajectory);
      }
    }
  }
  return played;
}

TEST(Rollout, ALockstepEpisodeIsTheSameWhoeverPlaysItBesideWhichOthers) {
  const auto tasks = SmallTasks(2, 4);
  const std::vector<Trajectory> alone = PlayLockstep(tasks, 1, 1);
  std::set<GraphId> graphs;
  for (const Trajectory& trajectory : alone) graphs.insert(trajectory.graph);
  EXPECT_EQ(graphs.size(), tasks.size());
  for (const int64_t beside : {2, 3, 5, 8, 24}) {
    const std::vector<Trajectory> together = PlayLockstep(tasks, beside, static_cast<uint64_t>(beside));
    for (size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(Same(alone[i], together[i])) << beside << " " << i;
  }
}

TEST(Rollout, EpisodesShareAGraphAndAStartWhereAsked) {
  const auto tasks = SmallTasks(3, 4);
  EnvironmentConfig environment;
  environment.episodes_per_start = 3;
  const auto expect_triples = [](const std::vector<Trajectory>& episodes) {
    std::set<std::pair<GraphId, std::vector<uint8_t>>> starts;
    size_t different = 0;
    for (size_t i = 0; i < episodes.size(); ++i) {
      const Trajectory& first = episodes[i - i % 3];
      EXPECT_EQ(episodes[i].graph, first.graph);
      EXPECT_EQ(episodes[i].start_placement, first.start_placement);
      if (i % 3 != 0 && episodes[i].actions != first.actions) ++different;
      starts.insert({first.graph, first.start_placement});
    }
    EXPECT_GT(different, 0U);
    EXPECT_EQ(starts.size(), episodes.size() / 3);
  };
  Rollout rollout(tasks, environment, 1, kActor, Rng(1));
  rollout.SetWeights(SmallWeights(1, 0));
  expect_triples(Collect(rollout, 12));
  std::vector<Trajectory> lockstep;
  for (const uint32_t number : {0U, 1U, 2U, 3U, 4U, 5U}) {
    rollout.StartLockstep(std::vector{number}, 7);
    lockstep.push_back(Collect(rollout, 1).front());
  }
  expect_triples(lockstep);
}

// Of each action of an episode, the logarithm of its probability under the policy, by replaying it.
std::vector<double> PolicyLogProbabilities(PlacetoKernel& kernel, const std::vector<PlacementTask>& tasks,
                                           const Trajectory& trajectory) {
  const PlacetoGraph graph(tasks[trajectory.graph].groups);
  std::vector<uint8_t> placement = trajectory.start_placement;
  std::vector<double> log_probabilities;
  for (int32_t t = 0; t < graph.num_nodes; ++t) {
    const PlacetoState state{&graph, placement.data(), t};
    std::vector<float> logits(2);
    kernel.Forward(std::span(&state, 1), logits);
    const double sum = std::exp(static_cast<double>(logits[0])) + std::exp(static_cast<double>(logits[1]));
    const uint8_t action = trajectory.actions[static_cast<size_t>(t)];
    log_probabilities.push_back(static_cast<double>(logits[action]) - std::log(sum));
    placement[static_cast<size_t>(t)] = action;
  }
  return log_probabilities;
}

TEST(Rollout, LogProbabilitiesAreThoseOfThePolicyReplayed) {
  const auto tasks = SmallTasks(3, 4);
  const auto weights = SmallWeights(2, 0);
  Rollout rollout(tasks, {}, 4, kActor, Rng(3));
  rollout.SetWeights(weights);
  PlacetoKernel kernel(*weights);
  for (const Trajectory& trajectory : Collect(rollout, 30)) {
    const std::vector<double> policy = PolicyLogProbabilities(kernel, tasks, trajectory);
    for (size_t t = 0; t < policy.size(); ++t) {
      EXPECT_NEAR(static_cast<double>(trajectory.behaviour_log_prob[t]), policy[t], 1e-5);
    }
  }
}

TEST(Rollout, ActionsFollowTheProbabilities) {
  // Over many episodes, action 1 is taken as often as the recorded probabilities say: sum of (a - p) has variance
  // sum of p (1 - p), and stays within 5 standard deviations.
  const auto tasks = SmallTasks(4, 3);
  Rollout rollout(tasks, {}, 4, kActor, Rng(4));
  rollout.SetWeights(SmallWeights(3, 0));
  double excess = 0, variance = 0;
  for (const Trajectory& trajectory : Collect(rollout, 400)) {
    for (size_t t = 0; t < trajectory.actions.size(); ++t) {
      const double taken = std::exp(static_cast<double>(trajectory.behaviour_log_prob[t]));
      const double p = trajectory.actions[t] == 1 ? taken : 1 - taken;
      excess += trajectory.actions[t] - p;
      variance += p * (1 - p);
    }
  }
  EXPECT_GT(variance, 100);
  EXPECT_LT(std::abs(excess), 5 * std::sqrt(variance));
}

TEST(Rollout, NoiseFallsToNothing) {
  const LogitsNoise noise{.deviation = 0.5, .decay_updates = 10};
  EXPECT_EQ(noise.DeviationAt(0), 0.5);
  EXPECT_DOUBLE_EQ(noise.DeviationAt(5), 0.25);
  EXPECT_EQ(noise.DeviationAt(10), 0);
  EXPECT_EQ(noise.DeviationAt(11), 0);
  const auto tasks = SmallTasks(3, 4);
  Rollout without(tasks, {}, 4, kActor, Rng(3));
  Rollout with(tasks, {}, 4, kActor, Rng(3), MakeSimulatedMeasure, noise);
  without.SetWeights(SmallWeights(2, 10));
  with.SetWeights(SmallWeights(2, 10));
  const std::vector<Trajectory> expected = Collect(without, 12), got = Collect(with, 12);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(Same(expected[i], got[i])) << i;
}

TEST(Rollout, ProbabilitiesAreThoseWithTheNoise) {
  // pi / mu has the mean 1 under mu, whatever the noise, if mu is what actions are drawn from: over many decisions the
  // mean stays within 5 standard errors.
  const auto tasks = SmallTasks(3, 4);
  const auto weights = SmallWeights(2, 0);
  Rollout rollout(tasks, {}, 4, kActor, Rng(3), MakeSimulatedMeasure, {.deviation = 1, .decay_updates = 750});
  rollout.SetWeights(weights);
  PlacetoKernel kernel(*weights);
  double count = 0, sum = 0, sum_of_squares = 0;
  for (const Trajectory& trajectory : Collect(rollout, 400)) {
    const std::vector<double> policy = PolicyLogProbabilities(kernel, tasks, trajectory);
    for (size_t t = 0; t < policy.size(); ++t) {
      const double ratio = std::exp(policy[t] - static_cast<double>(trajectory.behaviour_log_prob[t]));
      ++count;
      sum += ratio;
      sum_of_squares += ratio * ratio;
    }
  }
  const double mean = sum / count;
  const double variance = sum_of_squares / count - mean * mean;
  EXPECT_GT(variance, 0.01);  // There is noise.
  EXPECT_LT(std::abs(mean - 1), 5 * std::sqrt(variance / count));
}

TEST(Rollout, ReplaysThroughTheEnvironmentToTheSameRho) {
  const auto tasks = SmallTasks(5, 4);
  for (const RewardUnit reward : {RewardUnit::kLog, RewardUnit::kSeconds, RewardUnit::kSqrt}) {
    EnvironmentConfig environment;
    environment.reward = reward;
    Rollout rollout(tasks, environment, 4, kActor, Rng(5));
    rollout.SetWeights(SmallWeights(4, 0));
    for (const Trajectory& trajectory : Collect(rollout, 20)) {
      PlacementEnv env(tasks[trajectory.graph], environment);
      EXPECT_EQ(static_cast<float>(env.Reset(trajectory.start_placement)), trajectory.rho[0]);
      for (size_t t = 0; t < trajectory.actions.size(); ++t) {
        EXPECT_EQ(static_cast<float>(env.Step(trajectory.actions[t])), trajectory.rho[t + 1]);
      }
      EXPECT_TRUE(env.done());
    }
  }
}

// Hardware whose steps take twice as long as simulated ones.
class SlowHardware : public SimulatedMeasure {
 public:
  using SimulatedMeasure::SimulatedMeasure;
  Measurement Run(std::span<const uint8_t> groups, std::span<const DeviceIndex> ops) override {
    Measurement measured = SimulatedMeasure::Run(groups, ops);
    measured.makespan_us *= 2;
    return measured;
  }
  bool Reproducible() const override { return false; }
};

TEST(Rollout, RewardsAreOfWhatIsMeasuredAndSaySo) {
  const auto tasks = SmallTasks(5, 4);
  EnvironmentConfig environment;
  environment.reward = RewardUnit::kSeconds;
  environment.memory_penalty = 0;
  Rollout simulated(tasks, environment, 4, kActor, Rng(5));
  Rollout measured(tasks, environment, 4, kActor, Rng(5),
                   [](const PlacementTask& task) { return std::make_unique<SlowHardware>(task); });
  simulated.SetWeights(SmallWeights(4, 0));
  measured.SetWeights(SmallWeights(4, 0));
  const std::vector<Trajectory> of_simulator = Collect(simulated, 20), of_hardware = Collect(measured, 20);
  ASSERT_EQ(of_simulator.size(), of_hardware.size());
  for (size_t i = 0; i < of_hardware.size(); ++i) {
    EXPECT_EQ(of_simulator[i].claim, Claim::kSimulated);
    EXPECT_EQ(of_hardware[i].claim, Claim::kMeasured);
    EXPECT_EQ(of_hardware[i].actions, of_simulator[i].actions);
    for (size_t t = 0; t < of_hardware[i].rho.size(); ++t) {
      EXPECT_FLOAT_EQ(of_hardware[i].rho[t], 2 * of_simulator[i].rho[t]);
    }
  }
}

TEST(Rollout, OneVersionChoosesAWholeEpisode) {
  const auto tasks = SmallTasks(6, 4);
  Rollout rollout(tasks, {}, 4, kActor, Rng(6));
  std::map<PolicyVersion, std::shared_ptr<const PolicyWeights>> versions;
  std::vector<Trajectory> all;
  for (PolicyVersion version = 0; all.size() < 40; ++version) {  // Newer weights at every step.
    versions[version] = SmallWeights(100 + version, version);
    rollout.SetWeights(versions[version]);
    for (Trajectory& trajectory : rollout.Advance()) all.push_back(std::move(trajectory));
  }
  std::set<PolicyVersion> used;
  for (const Trajectory& trajectory : all) {
    used.insert(trajectory.policy_version);
    PlacetoKernel kernel(*versions.at(trajectory.policy_version));
    const PlacetoGraph graph(tasks[trajectory.graph].groups);
    std::vector<uint8_t> placement = trajectory.start_placement;
    for (size_t t = 0; t < placement.size(); ++t) {
      const PlacetoState state{&graph, placement.data(), static_cast<int32_t>(t)};
      std::vector<float> logits(2);
      kernel.Forward(std::span(&state, 1), logits);
      const double sum = std::exp(static_cast<double>(logits[0])) + std::exp(static_cast<double>(logits[1]));
      EXPECT_NEAR(static_cast<double>(trajectory.behaviour_log_prob[t]),
                  static_cast<double>(logits[trajectory.actions[t]]) - std::log(sum), 1e-5);
      placement[t] = trajectory.actions[t];
    }
  }
  EXPECT_GT(used.size(), 3U);
}

TEST(Rollout, StartsAsTheConfigurationSays) {
  const auto tasks = SmallTasks(7, 2);
  EnvironmentConfig single;
  single.start = Start::kSingle;
  Rollout from_single(tasks, single, 2, kActor, Rng(7));
  from_single.SetWeights(SmallWeights(5, 0));
  std::map<GraphId, std::vector<uint8_t>> starts;
  for (const Trajectory& trajectory : Collect(from_single, 10)) {
    const auto [first, fresh] = starts.emplace(trajectory.graph, trajectory.start_placement);
    EXPECT_EQ(first->second, trajectory.start_placement);
  }

  // From the best: rho at the start of a wave's episode is the lowest that earlier waves reached on that graph.
  EnvironmentConfig best;
  best.start = Start::kBest;
  best.memory_penalty = 0;
  auto roomy = tasks;
  for (PlacementTask& task : roomy) task.sim.memory_bytes = {1 << 30, 1 << 30};
  Rollout from_best(roomy, best, 1, kActor, Rng(8));
  from_best.SetWeights(SmallWeights(6, 0));
  std::map<GraphId, float> lowest;
  for (const Trajectory& trajectory : Collect(from_best, 30)) {
    if (lowest.contains(trajectory.graph)) {
      EXPECT_EQ(trajectory.rho[0], lowest[trajectory.graph]);
    }
    const float reached = *std::min_element(trajectory.rho.begin(), trajectory.rho.end());
    const auto known = lowest.emplace(trajectory.graph, reached).first;
    known->second = std::min(known->second, reached);
  }
}

}  // namespace
}  // namespace emplace
