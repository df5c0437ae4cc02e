#include "learner/update/objective/best_episodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "common/error.h"
#include "policy/placeto/placeto_kind.h"
#include "policy/sgdp/sgdp_kind.h"
#include "simulator/environment/placement_env.h"
#include "tests/learner/episodes.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Placements of an episode's steps, played in the environment: {rho, groups} of those that fit.
std::vector<std::pair<float, std::vector<uint8_t>>> FittingPlacements(const Workload& workload,
                                                                      const Trajectory& episode) {
  PlacementEnv env(workload.train[episode.graph], EnvironmentConfig());
  env.Reset(episode.start_placement);
  std::vector<std::pair<float, std::vector<uint8_t>>> fitting;
  for (const uint8_t device : episode.actions) {
    const auto rho = static_cast<float>(env.Step(device));
    if (env.feasible()) fitting.emplace_back(rho, std::vector<uint8_t>(env.placement().begin(), env.placement().end()));
  }
  return fitting;
}

TEST(BestEpisodes, KeepsTheBestPlacementOnAnyWay) {
  for (uint64_t seed = 0; seed < Trials(40); ++seed) {
    const Workload workload = RoomyWorkload(seed, 2);
    BestEpisodes best(workload.train, PlacetoKind());
    std::vector<float> least(2, std::numeric_limits<float>::infinity());
    for (uint64_t round = 0; round < 3; ++round) {
      const std::vector<Trajectory> batch =
          Episodes(workload.train, EnvironmentConfig(), SmallPolicy(round), 5, Rng(seed).Fork("round", round));
      best.Consider(batch);
      for (const Trajectory& episode : batch) {
        for (const auto& [rho, groups] : FittingPlacements(workload, episode)) {
          least[episode.graph] = std::min(least[episode.graph], rho);
        }
      }
      for (size_t graph = 0; graph < 2; ++graph) {
        if (std::isinf(least[graph])) {
          EXPECT_THAT(best.best()[graph].actions, IsEmpty());
          continue;
        }
        EXPECT_EQ(best.best()[graph].rho, least[graph]) << seed;
        // As an episode it ends where it says.
        PlacementEnv env(workload.train[graph], EnvironmentConfig());
        double rho = env.Reset(best.best()[graph].start_placement);
        for (const uint8_t device : best.best()[graph].actions) rho = env.Step(device);
        EXPECT_EQ(static_cast<float>(rho), least[graph]) << seed;
      }
    }
  }
}

// However good its rho is made to look.
TEST(BestEpisodes, LeavesOutWhatDoesNotFit) {
  int left_out = 0;
  for (uint64_t seed = 0; seed < Trials(40); ++seed) {
    const Workload workload = TwoDeviceWorkload(seed, 2);
    std::vector<Trajectory> batch = Episodes(workload.train, EnvironmentConfig(), SmallPolicy(1), 5, Rng(seed));
    for (Trajectory& episode : batch) {
      std::set<std::vector<uint8_t>> fitting;
      for (const auto& [rho, groups] : FittingPlacements(workload, episode)) fitting.insert(groups);
      std::vector<uint8_t> groups(episode.actions.size());
      for (size_t step = 1; step < episode.rho.size(); ++step) {
        PlacementAfter(episode, step, groups);
        if (!fitting.contains(groups)) episode.rho[step] = -1;
      }
      BestEpisodes best(workload.train, PlacetoKind());
      best.Consider({episode});
      const std::vector<uint8_t>& actions = best.best()[episode.graph].actions;
      EXPECT_TRUE(actions.empty() || fitting.contains(actions)) << seed;
      if (fitting.size() < episode.actions.size()) ++left_out;
    }
  }
  EXPECT_GT(left_out, 0);
}

TEST(BestEpisodes, DrawsOnlyGraphsThatHaveOneAndAllOfThem) {
  const Workload workload = RoomyWorkload(1, 3);
  BestEpisodes best(workload.train, PlacetoKind());
  Rng rng(1);
  EXPECT_THAT(best.Draw(4, rng), IsEmpty());
  for (const Trajectory& episode : Episodes(workload.train, EnvironmentConfig(), SmallPolicy(1), 30, Rng(2))) {
    if (episode.graph != 1) best.Consider({episode});
  }
  const std::vector<Trajectory> drawn = best.Draw(50, rng);
  EXPECT_THAT(drawn, SizeIs(50));
  std::set<GraphId> graphs;
  for (const Trajectory& episode : drawn) {
    graphs.insert(episode.graph);
    EXPECT_EQ(episode.actions, best.best()[episode.graph].actions);
    EXPECT_EQ(episode.start_placement, best.best()[episode.graph].start_placement);
    EXPECT_EQ(episode.behaviour_log_prob.size(), episode.actions.size());
    EXPECT_EQ(episode.rho.size(), episode.actions.size() + 1);
  }
  EXPECT_THAT(graphs, ElementsAre(0, 2));
}

TEST(BestEpisodes, LoadsWhatWasSavedAndRefusesWhatDoesNotFit) {
  const Workload workload = RoomyWorkload(1, 2);
  BestEpisodes best(workload.train, PlacetoKind());
  best.Consider(Episodes(workload.train, EnvironmentConfig(), SmallPolicy(1), 10, Rng(2)));
  ASSERT_FALSE(best.best()[1].actions.empty());
  BestEpisodes resumed(workload.train, PlacetoKind());
  resumed.Load(best.best());
  EXPECT_EQ(resumed.best(), best.best());
  const auto refuses = [&](auto damage) {
    std::vector<BestEpisode> saved = best.best();
    damage(saved);
    EXPECT_THROW(resumed.Load(saved), Error);
    EXPECT_EQ(resumed.best(), best.best());
  };
  refuses([](auto& saved) { saved.pop_back(); });
  refuses([](auto& saved) { saved[1].actions.push_back(0); });
  refuses([](auto& saved) { saved[1].start_placement.clear(); });
  refuses([](auto& saved) { saved[1].actions[0] = 2; });
}

// Of a kind that decides all at once. The two devices are equal, so the first group's is called 0.
TEST(BestEpisodes, EqualDevicesAreNamedInOrderOfUse) {
  Workload workload = RoomyWorkload(8, 1);
  workload.cluster.devices[1].kind = workload.cluster.devices[0].kind;
  workload = OnMachine(workload, workload.cluster);
  BestEpisodes best(workload.train, SgdpKind());
  Trajectory episode;
  episode.actions.assign(static_cast<size_t>(workload.train[0].groups.num_groups), 1);
  episode.actions.back() = 0;
  episode.rho = {1};
  best.Consider({episode});
  std::vector<uint8_t> expected(episode.actions.size(), 0);
  expected.back() = 1;
  EXPECT_EQ(best.best()[0].actions, expected);
  EXPECT_EQ(best.best()[0].rho, 1.0F);
}

}  // namespace
}  // namespace emplace
