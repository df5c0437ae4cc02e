#include "simulator/environment/placement_env.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/allocation_counter.h"
#include "tests/support/event_queue_oracle.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

EnvironmentConfig Seconds(Start start = Start::kRandom) {
  EnvironmentConfig config;
  config.start = start;
  config.reward = RewardUnit::kSeconds;
  return config;
}

TEST(Rho, IsSecondsPlusAPenaltyForEachGigabyteOver) {
  EnvironmentConfig config = Seconds();
  config.memory_penalty = 2;
  config.memory_penalty_cap = 5;
  const std::vector<int64_t> limit = {1000000000, 2000000000};
  EXPECT_DOUBLE_EQ(Rho(config, 3e6, std::vector<int64_t>{1000000000, 2000000000}, limit), 3);
  // The fullest device is 1.5 GB over: 2 * 1.5.
  EXPECT_DOUBLE_EQ(Rho(config, 3e6, std::vector<int64_t>{1500000000, 3500000000}, limit), 3 + 3);
  EXPECT_DOUBLE_EQ(Rho(config, 3e6, std::vector<int64_t>{9000000000, 0}, limit), 3 + 5);  // 2 * 8, capped
  config.reward = RewardUnit::kLog;
  EXPECT_DOUBLE_EQ(Rho(config, 3e6, std::vector<int64_t>{1500000000, 0}, limit), std::log(3.0) + 1);
  EXPECT_TRUE(std::isfinite(Rho(config, 0, std::vector<int64_t>{0, 0}, limit)));
  config.reward = RewardUnit::kSqrt;
  EXPECT_DOUBLE_EQ(Rho(config, 4e6, std::vector<int64_t>{1500000000, 0}, limit), 2 + 1);
}

// What an episode left behind.
struct Episode {
  std::vector<double> rho;     // [n + 1]
  std::vector<uint8_t> start;  // [n]
  std::vector<uint8_t> end;    // [n], which is also the actions
};

Episode RunRandomEpisode(const PlacementTask& task, PlacementEnv& env, Rng& rng) {
  Episode episode;
  episode.rho.push_back(env.Reset(rng));
  episode.start.assign(env.placement().begin(), env.placement().end());
  while (!env.done()) episode.rho.push_back(env.Step(RandomAllowedDevice(task.groups, env.step(), rng)));
  episode.end.assign(env.placement().begin(), env.placement().end());
  return episode;
}

TEST(PlacementEnv, EveryStepIsWorthWhatTheOracleSays) {
  for (uint64_t seed = 0; seed < Trials(150); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source = RandomSource(rng, {.max_ops = 40, .restricted = 0.2});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 10);
    EnvironmentConfig config = Seconds();
    if (seed % 2 == 0) config.reward = RewardUnit::kLog;
    config.memory_penalty = 1e6;  // These graphs hold kilobytes.
    config.memory_penalty_cap = 3;
    PlacementEnv env(task, config);
    std::vector<int64_t> memory_bytes;
    for (const Device& device : source.cluster.devices) memory_bytes.push_back(device.memory_bytes);

    double rho = env.Reset(rng);
    for (int32_t step = 0;; ++step) {
      ASSERT_EQ(env.step(), step);
      Placement placement;
      for (const GroupIndex group : task.group_of_op) placement.push_back(env.placement()[static_cast<size_t>(group)]);
      CheckPlacement(source.graph, source.cluster, placement);
      const OracleRun run = SimulateByEventQueue(source.graph, source.cluster, placement);
      ASSERT_NEAR(env.makespan_us(), run.makespan_us, 1e-9) << "seed " << seed;
      ASSERT_NEAR(rho, Rho(config, run.makespan_us, run.peak_bytes, memory_bytes), 1e-9) << "seed " << seed;
      bool fits = true;
      for (size_t d = 0; d < memory_bytes.size(); ++d) fits = fits && run.peak_bytes[d] <= memory_bytes[d];
      ASSERT_EQ(env.feasible(), fits) << "seed " << seed;
      if (env.done()) break;
      const std::vector<uint8_t> before(env.placement().begin(), env.placement().end());
      const DeviceIndex device = RandomAllowedDevice(task.groups, step, rng);
      rho = env.Step(device);
      // Step t decides group t and nothing else.
      for (size_t g = 0; g < before.size(); ++g) {
        ASSERT_EQ(env.placement()[g], g == static_cast<size_t>(step) ? device : before[g]);
      }
    }
    ASSERT_EQ(env.step(), task.groups.num_groups);
  }
}

TEST(PlacementEnv, RewardsAddUpToTheDifferenceOfStartAndEnd) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng);
    PlacementEnv env(task, Seconds());
    const Episode episode = RunRandomEpisode(task, env, rng);
    double rewards = 0;
    for (size_t t = 0; t + 1 < episode.rho.size(); ++t) rewards += episode.rho[t] - episode.rho[t + 1];
    // A fresh environment that starts where the episode ended sees the same end.
    PlacementEnv fresh(task, Seconds());
    ASSERT_EQ(fresh.Reset(episode.end), episode.rho.back());
    ASSERT_NEAR(rewards, episode.rho.front() - fresh.Reset(episode.end), 1e-9);
  }
}

TEST(PlacementEnv, ReplayingAnEpisodeGivesTheSameBits) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.restricted = 0.1});
    PlacementEnv env(task, EnvironmentConfig());
    RunRandomEpisode(task, env, rng);  // What came before must not show.
    const Episode episode = RunRandomEpisode(task, env, rng);
    PlacementEnv other(task, EnvironmentConfig());
    std::vector<double> replayed = {other.Reset(episode.start)};
    for (const uint8_t action : episode.end) replayed.push_back(other.Step(action));
    ASSERT_EQ(replayed, episode.rho) << "seed " << seed;
  }
}

TEST(PlacementEnv, AStepThatMovesNothingChangesNothing) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng);
    PlacementEnv env(task, EnvironmentConfig());
    const double start = env.Reset(rng);
    while (!env.done()) ASSERT_EQ(env.Step(env.placement()[static_cast<size_t>(env.step())]), start);
  }
}

TEST(PlacementEnv, TracksTheBestFeasiblePlacementOfAllEpisodes) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng);
    PlacementEnv env(task, Seconds());
    double best_us = std::numeric_limits<double>::infinity();
    const auto look = [&] {
      if (env.feasible()) best_us = std::min(best_us, env.makespan_us());
    };
    for (int episode = 0; episode < 4; ++episode) {
      env.Reset(rng);
      look();
      for (; !env.done(); look()) env.Step(RandomAllowedDevice(task.groups, env.step(), rng));
    }
    ASSERT_EQ(env.best_makespan_us(), best_us) << "seed " << seed;
    ASSERT_EQ(env.best_placement().empty(), std::isinf(best_us));
    if (env.best_placement().empty()) continue;
    PlacementEnv other(task, Seconds());
    other.Reset(env.best_placement());
    ASSERT_EQ(other.makespan_us(), best_us);
    ASSERT_TRUE(other.feasible());
  }
}

TEST(PlacementEnv, StartsFromWhatIsGivenAndSingleFromOneDevice) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.memory_bytes = int64_t{1} << 40});
    PlacementEnv best(task, Seconds(Start::kRandom));
    RunRandomEpisode(task, best, rng);
    const std::vector<uint8_t> seen = best.best_placement();
    best.Reset(seen);
    ASSERT_TRUE(std::equal(seen.begin(), seen.end(), best.placement().begin()));
    ASSERT_EQ(best.makespan_us(), best.best_makespan_us());

    PlacementEnv single(task, Seconds(Start::kSingle));
    single.Reset(rng);
    ASSERT_EQ(single.makespan_us(), task.single_device_us);
    for (const uint8_t device : single.placement()) ASSERT_EQ(device, task.single_device);
  }
}

TEST(PlacementEnv, RandomStartsAreUniformOverWhatIsAllowed) {
  Rng rng(7);
  PlacementTask task = RandomTask(rng, {.max_ops = 80, .max_devices = 1, .memory_bytes = int64_t{1} << 40});
  // Made by hand to be sure of its rows: 3 devices, of which group 0 may not use the second.
  const auto n = static_cast<size_t>(task.groups.num_groups);
  task.groups.num_devices = task.sim.num_devices = 3;
  task.groups.allowed.assign(n * 3, 1);
  task.groups.allowed[1] = 0;
  task.sim.memory_bytes.assign(3, int64_t{1} << 40);
  std::vector<double> cost_us;
  for (const double cost : task.sim.cost_us) cost_us.insert(cost_us.end(), 3, cost);
  task.sim.cost_us = cost_us;

  PlacementEnv env(task, EnvironmentConfig());
  constexpr int kDraws = 6000;
  std::vector<int> first(3);
  std::vector<int> last(3);
  for (int i = 0; i < kDraws; ++i) {
    env.Reset(rng);
    ++first[env.placement().front()];
    ++last[env.placement().back()];
  }
  ASSERT_GT(n, 1u);
  EXPECT_EQ(first[1], 0);
  // Binomial: 5 standard deviations of sqrt(6000 p (1 - p)) are at most 194.
  EXPECT_NEAR(first[0], kDraws / 2.0, 200);
  for (const int count : last) EXPECT_NEAR(count, kDraws / 3.0, 200);
}

TEST(PlacementEnv, EpisodesDoNotAllocate) {
  for (const Start start : {Start::kRandom, Start::kSingle}) {
    Rng rng(3);
    const PlacementTask task = RandomTask(rng, {.max_ops = 200, .max_groups = 40});
    PlacementEnv env(task, Seconds(start));
    RunRandomEpisode(task, env, rng);
    std::vector<DeviceIndex> actions;
    for (int32_t g = 0; g < task.groups.num_groups; ++g) actions.push_back(RandomAllowedDevice(task.groups, g, rng));
    const int64_t before = AllocationsSoFar();
    env.Reset(rng);
    for (const DeviceIndex device : actions) env.Step(device);
    EXPECT_EQ(AllocationsSoFar(), before) << ToString(start);
  }
}

}  // namespace
}  // namespace emplace
