#include "simulator/methods/search/trial_evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "simulator/methods/search/moves/move_generator.h"
#include "tests/support/random_priority.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// The score of a full simulation by arrival, or with the orders that come of a priority.
SearchScore FullScore(const PlacementTask& task, const SharedPriority& priority, const Placement& placement) {
  return PlacementScorer(task, priority ? OrdersUnder(*priority, task.sim, placement) : DeviceOrders())
      .Score(placement);
}

// Random walks, in which memory is often short: what an evaluator takes has the score of a full simulation, and what it
// takes without a limit is no worse in memory than the base. Priorities change on the way.
class TrialEvaluatorScores : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Queues, TrialEvaluatorScores, ::testing::Values(false, true),
                         [](const auto& tested) { return tested.param ? "ByPriority" : "ByArrival"; });

TEST_P(TrialEvaluatorScores, AreThoseOfAFullSimulation) {
  int taken = 0;
  int refused = 0;
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(
        rng, {.max_ops = 120, .parameters = 20, .restricted = 0.1, .link_model = static_cast<LinkModel>(seed % 3)});
    const SearchSpace space(task);
    if (!space.any()) continue;
    MoveGenerator generator(space);
    const auto new_priority = [&] {
      return GetParam() ? std::make_shared<const Priority>(RandomPriority(rng, task.sim.num_ops)) : nullptr;
    };
    SharedPriority priority = new_priority();
    TrialEvaluator evaluator(task);
    Placement base = RandomGroupPlacement(task, rng);
    SearchScore base_score = evaluator.SetBase(base, priority);
    ASSERT_EQ(base_score, FullScore(task, priority, base));
    for (int step = 0; step < 40; ++step) {
      Move move;
      const auto level = static_cast<size_t>(rng.UniformInt(0, std::ssize(space.levels()) - 1));
      generator.Draw(rng, level, {.family = 0.3, .neighbours = 0.2, .swap = 0.2}, base, move);
      Placement moved = base;
      for (const OpMove& to : move) moved[static_cast<size_t>(to.op)] = to.device;
      const SearchScore full = FullScore(task, priority, moved);
      const double limit_us = base_score.makespan_us * rng.Uniform(0.9, 1.2);
      const std::optional<SearchScore> score = evaluator.Try(move, limit_us);
      ASSERT_EQ(evaluator.base(), base);
      const bool may_be_taken = full.bytes_over < base_score.bytes_over ||
                                (full.bytes_over == base_score.bytes_over && full.makespan_us <= limit_us);
      if (!score) {
        ++refused;
        continue;
      }
      ++taken;
      ASSERT_TRUE(may_be_taken);
      ASSERT_EQ(*score, full);
      base = moved;
      base_score = full;
      evaluator.SetBase(base, priority, base_score);
      if (taken % 5 != 0) continue;
      priority = new_priority();
      base_score = evaluator.SetBase(base, priority);
      ASSERT_EQ(base_score, FullScore(task, priority, base));
    }
  }
  EXPECT_GT(taken, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace emplace
