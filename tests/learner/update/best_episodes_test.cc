#include "learner/update/best_episodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/error.h"

namespace emplace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Trajectory EpisodeOf(GraphId graph, std::vector<uint8_t> actions, float rho) {
  Trajectory episode;
  episode.graph = graph;
  episode.start_placement.assign(actions.size(), 0);
  episode.rho.assign(actions.size(), 9.0F);
  episode.rho.push_back(rho);
  episode.actions = std::move(actions);
  return episode;
}

TEST(BestEpisodes, KeepsTheBestOfEachGraphByItsEnd) {
  BestEpisodes best(3);
  best.Consider({EpisodeOf(0, {0, 1}, 3), EpisodeOf(2, {1, 1, 1}, 5), EpisodeOf(0, {1, 0}, 2)});
  best.Consider({EpisodeOf(0, {1, 1}, 2), EpisodeOf(2, {0, 0, 1}, 4)});
  EXPECT_THAT(best.best()[0].actions, ElementsAre(1, 0));  // Of equals the first.
  EXPECT_THAT(best.best()[1].actions, IsEmpty());
  EXPECT_THAT(best.best()[2].actions, ElementsAre(0, 0, 1));
  EXPECT_EQ(best.best()[2].rho, 4);
}

TEST(BestEpisodes, DrawsOnlyGraphsThatHaveOneAndAllOfThem) {
  BestEpisodes best(3);
  Rng rng(1);
  EXPECT_THAT(best.Draw(4, rng), IsEmpty());
  best.Consider({EpisodeOf(0, {0, 1}, 3), EpisodeOf(2, {1, 1, 1}, 5)});
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
  BestEpisodes best(2);
  best.Consider({EpisodeOf(1, {0, 1}, 3)});
  BestEpisodes resumed(2);
  resumed.Load(best.best(), {4, 2}, 2);
  EXPECT_EQ(resumed.best(), best.best());
  const auto refuses = [&](auto damage) {
    std::vector<BestEpisode> saved = best.best();
    damage(saved);
    EXPECT_THROW(resumed.Load(saved, {4, 2}, 2), Error);
    EXPECT_EQ(resumed.best(), best.best());
  };
  refuses([](auto& saved) { saved.pop_back(); });
  refuses([](auto& saved) { saved[1].actions.push_back(0); });
  refuses([](auto& saved) { saved[1].start_placement.clear(); });
  refuses([](auto& saved) { saved[1].actions[0] = 2; });
}

}  // namespace
}  // namespace emplace
