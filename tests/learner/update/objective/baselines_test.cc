#include "learner/update/objective/baselines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/rng.h"

namespace emplace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

Trajectory EpisodeOf(GraphId graph, std::vector<float> rho) {
  Trajectory trajectory;
  trajectory.graph = graph;
  trajectory.actions.resize(rho.size() - 1);
  trajectory.rho = std::move(rho);
  return trajectory;
}

Trajectory Measured(Trajectory trajectory) {
  trajectory.claim = Claim::kMeasured;
  return trajectory;
}

TEST(Baselines, ReturnsToGoTelescope) {
  // r = 5-3, 3-4, 4-1; sums from each step on: 2-1+3 = 4, -1+3 = 2, 3.
  EXPECT_THAT(ReturnsToGo(EpisodeOf(0, {5, 3, 4, 1}), 1.0), ElementsAre(4, 2, 3));
  // With a discount of 1/2: 3, -1 + 3/2, 2 + 1/4.
  EXPECT_THAT(ReturnsToGo(EpisodeOf(0, {5, 3, 4, 1}), 0.5), ElementsAre(2.25F, 0.5F, 3));
}

TEST(Baselines, ALoneFirstEpisodeHasNothingToBeComparedWith) {
  Baselines baselines(2, BaselineKind::kGraph, 4, 1.0);
  EXPECT_THAT(baselines.AdvantagesThenAdd({EpisodeOf(1, {5, 1})}), ElementsAre(ElementsAre(0)));
  // From then on the first one is the baseline: G = 3 against 4. Another graph's episodes do not count.
  EXPECT_THAT(baselines.AdvantagesThenAdd({EpisodeOf(1, {5, 2}), EpisodeOf(0, {9, 1})}),
              ElementsAre(ElementsAre(-1), ElementsAre(0)));
}

// Two with one start, two with another, and one alone; what came before does not count.
TEST(Baselines, OfABatchCompareEqualStarts) {
  Baselines baselines(2, BaselineKind::kBatch, 4, 1.0);
  const auto episode = [](GraphId graph, uint8_t start, float gain) {
    Trajectory trajectory = EpisodeOf(graph, {10, 10 - gain});
    trajectory.start_placement = {start};
    return trajectory;
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(baselines.AdvantagesThenAdd(
                    {episode(0, 0, 1), episode(0, 1, 5), episode(1, 0, 8), episode(0, 0, 4), episode(0, 1, 7)}),
                ElementsAre(ElementsAre(-3), ElementsAre(-2), ElementsAre(0), ElementsAre(3), ElementsAre(2)));
  }
  EXPECT_THAT(baselines.Save().simulated, ElementsAre(ElementsAre(), ElementsAre()));
}

// Hardware here takes twice what the simulator says: what is compared across the two would lose or win by that alone.
TEST(Baselines, CompareMeasuredRewardsWithMeasuredOnes) {
  Baselines baselines(1, BaselineKind::kGraph, 4, 1.0);
  EXPECT_THAT(baselines.AdvantagesThenAdd({EpisodeOf(0, {5, 1}), Measured(EpisodeOf(0, {10, 2})), EpisodeOf(0, {5, 3}),
                                           Measured(EpisodeOf(0, {10, 6}))}),
              ElementsAre(ElementsAre(2), ElementsAre(4), ElementsAre(-2), ElementsAre(-4)));
  EXPECT_THAT(baselines.Save(), AllOf(Field(&Baselines::Returns::simulated, ElementsAre(ElementsAre(4, 2))),
                                      Field(&Baselines::Returns::measured, ElementsAre(ElementsAre(8, 4)))));
  // In the windows, too: 3 - (4 + 2) / 2 and 7 - (8 + 4) / 2.
  EXPECT_THAT(baselines.AdvantagesThenAdd({Measured(EpisodeOf(0, {10, 3})), EpisodeOf(0, {5, 2})}),
              ElementsAre(ElementsAre(1), ElementsAre(0)));
}

TEST(Baselines, OfABatchCompareMeasuredRewardsWithMeasuredOnes) {
  Baselines baselines(1, BaselineKind::kBatch, 4, 1.0);
  // One more is measured from the same start, and so alone with another one.
  EXPECT_THAT(baselines.AdvantagesThenAdd({EpisodeOf(0, {5, 1}), Measured(EpisodeOf(0, {10, 2})), EpisodeOf(0, {5, 3}),
                                           Measured(EpisodeOf(0, {10, 6}))}),
              ElementsAre(ElementsAre(2), ElementsAre(4), ElementsAre(-2), ElementsAre(-4)));
  EXPECT_THAT(baselines.AdvantagesThenAdd({EpisodeOf(0, {5, 1}), Measured(EpisodeOf(0, {10, 2}))}),
              ElementsAre(ElementsAre(0), ElementsAre(0)));
}

// A window is of one kind of rewards: those that come often push none of the others out.
TEST(Baselines, KeepAWindowOfEachKindOfRewards) {
  Baselines baselines(1, BaselineKind::kGraph, 2, 1.0);
  baselines.AdvantagesThenAdd({Measured(EpisodeOf(0, {9, 1}))});
  for (int i = 0; i < 5; ++i) baselines.AdvantagesThenAdd({EpisodeOf(0, {2, 1})});
  EXPECT_THAT(baselines.Save().simulated, ElementsAre(ElementsAre(1, 1)));
  EXPECT_THAT(baselines.AdvantagesThenAdd({Measured(EpisodeOf(0, {9, 2}))}), ElementsAre(ElementsAre(-1)));
}

TEST(Baselines, AreTheMeanOfTheOtherEpisodesInWindowAndBatch) {
  Rng rng(1);
  const std::vector<int32_t> steps = {3, 1, 5};
  for (const int64_t window : {1, 2, 7}) {
    Baselines baselines(steps.size(), BaselineKind::kGraph, window, 1.0);
    std::vector<std::vector<std::vector<float>>> history(steps.size());  // [graphs][episodes][n], never cut.
    for (int round = 0; round < 20; ++round) {
      std::vector<Trajectory> batch;
      for (int64_t i = rng.UniformInt(1, 6); i > 0; --i) {
        const auto graph = static_cast<GraphId>(rng.UniformInt(0, 2));
        std::vector<float> rho;
        for (int32_t t = 0; t <= steps[graph]; ++t) rho.push_back(static_cast<float>(rng.Normal()));
        batch.push_back(EpisodeOf(graph, std::move(rho)));
      }
      const auto advantages = baselines.AdvantagesThenAdd(batch);
      ASSERT_EQ(advantages.size(), batch.size());
      for (size_t i = 0; i < batch.size(); ++i) {
        const auto& past = history[batch[i].graph];
        const size_t first = past.size() - std::min(past.size(), static_cast<size_t>(window));
        for (size_t t = 0; t < batch[i].actions.size(); ++t) {
          double sum = 0;
          double count = 0;
          for (size_t e = first; e < past.size(); ++e, ++count) sum += static_cast<double>(past[e][t]);
          for (size_t j = 0; j < batch.size(); ++j) {
            if (j == i || batch[j].graph != batch[i].graph) continue;
            sum += static_cast<double>(batch[j].rho[t] - batch[j].rho.back());
            ++count;
          }
          const double own = static_cast<double>(batch[i].rho[t] - batch[i].rho.back());
          EXPECT_NEAR(static_cast<double>(advantages[i][t]), count > 0 ? own - sum / count : 0.0, 1e-5);
        }
      }
      for (const Trajectory& episode : batch) history[episode.graph].push_back(ReturnsToGo(episode, 1.0));
    }
  }
}

TEST(Baselines, GoOnAfterALoadAsIfNothingHadHappened) {
  const std::vector<Trajectory> first = {EpisodeOf(0, {3, 2, 1}), EpisodeOf(1, {7, 4}), EpisodeOf(0, {2, 9, 4}),
                                         Measured(EpisodeOf(0, {8, 7, 5}))};
  const std::vector<Trajectory> second = {EpisodeOf(1, {1, 4}), EpisodeOf(0, {5, 5, 2}), EpisodeOf(0, {1, 0, 2}),
                                          Measured(EpisodeOf(0, {9, 6, 5}))};
  Baselines original(2, BaselineKind::kGraph, 2, 1.0);
  original.AdvantagesThenAdd(first);
  Baselines restored(2, BaselineKind::kGraph, 2, 1.0);
  restored.Load(original.Save(), {2, 1});
  EXPECT_EQ(original.AdvantagesThenAdd(second), restored.AdvantagesThenAdd(second));
  EXPECT_EQ(original.Save(), restored.Save());
}

TEST(Baselines, ASmallerWindowThanTheSavedOneKeepsTheNewest) {
  Baselines wide(1, BaselineKind::kGraph, 10, 1.0);
  wide.AdvantagesThenAdd({EpisodeOf(0, {1, 0}), EpisodeOf(0, {2, 0}), EpisodeOf(0, {3, 0})});
  Baselines narrow(1, BaselineKind::kGraph, 2, 1.0);
  narrow.Load(wide.Save(), {1});
  narrow.AdvantagesThenAdd({EpisodeOf(0, {4, 0})});
  EXPECT_THAT(narrow.Save().simulated, ElementsAre(ElementsAre(3, 4)));
}

TEST(Baselines, RefuseWhatDoesNotFitAndStayAsTheyWere) {
  Baselines baselines(2, BaselineKind::kGraph, 3, 1.0);
  baselines.AdvantagesThenAdd({EpisodeOf(0, {3, 2, 1})});
  const auto before = baselines.Save();
  const auto complaint = [&](const Baselines::Returns& saved) -> std::string {
    try {
      baselines.Load(saved, {2, 3});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(complaint({{{1, 2}}, {{}, {}}}), HasSubstr("1 graphs, expected 2"));
  EXPECT_THAT(complaint({{{1, 2}, {1, 2, 3, 4}}, {{}, {}}}),
              HasSubstr("graph 1 have 4 entries, expected a multiple of 3"));
  EXPECT_THAT(complaint({{{1, 2}, {}}, {{1}, {}}}),
              HasSubstr("baselines of measured rewards of graph 0 have 1 entries, expected a multiple of 2"));
  EXPECT_THAT(complaint({{{1, 2}, {}}, {{}}}), HasSubstr("baselines of measured rewards of 1 graphs, expected 2"));
  EXPECT_EQ(baselines.Save(), before);
}

}  // namespace
}  // namespace emplace
