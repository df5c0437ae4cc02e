#include "simulator/methods/search/order_evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "simulator/methods/disciplines.h"
#include "simulator/methods/dispatch.h"
#include "simulator/methods/search/move_generator.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// Random walks, in which memory is often short: what an evaluator takes has the score of a full simulation with the
// order by rank, and without a limit nothing that lacks no more memory than the base is refused.
TEST(OrderEvaluator, GivesTheScoreWithTheOrderByRank) {
  int taken = 0;
  int refused = 0;
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    const RandomTaskSource source =
        RandomSource(rng, {.max_ops = 80, .restricted = 0.1, .link_model = static_cast<LinkModel>(seed % 3)});
    const PlacementTask task = PlacementTask::Make(source.graph, source.cluster, 12);
    const SearchSpace space(task);
    if (!space.any()) continue;
    MoveGenerator generator(space);
    const ScheduleGraph graph(task);
    OrderEvaluator evaluator(graph);
    Placement base(static_cast<size_t>(task.sim.num_ops));
    task.Expand(RandomGroups(task.groups, rng), base);
    SearchScore base_score = evaluator.SetBase(base);
    ASSERT_EQ(base_score, OrderBy("rank", task, base).score);
    for (int step = 0; step < 20; ++step) {
      Move move;
      generator.Draw(rng, static_cast<size_t>(rng.UniformInt(0, std::ssize(space.levels()) - 1)), {}, base, move);
      Placement moved = base;
      for (const OpMove& to : move) moved[static_cast<size_t>(to.op)] = to.device;
      const SearchScore full = OrderBy("rank", task, moved).score;
      const bool limited = rng.Uniform() < 0.7;
      const double limit_us =
          limited ? base_score.makespan_us * rng.Uniform(0.9, 1.2) : std::numeric_limits<double>::infinity();
      const std::optional<SearchScore> score = evaluator.Try(move, limit_us);
      ASSERT_EQ(evaluator.base(), base);
      const bool may_be_taken = full.bytes_over < base_score.bytes_over ||
                                (full.bytes_over == base_score.bytes_over && full.makespan_us <= limit_us);
      if (!limited) {
        ASSERT_EQ(score.has_value(), may_be_taken);
      }
      refused += static_cast<int>(!score);
      if (!score) continue;
      ++taken;
      ASSERT_TRUE(may_be_taken);
      ASSERT_EQ(*score, full);
      base = moved;
      base_score = full;
      evaluator.SetBase(base, base_score);
    }
  }
  EXPECT_GT(taken, 30);
  EXPECT_GT(refused, 30);
}

TEST(Dispatcher, IsTheSameWithALimitUnlessItIsGivenUp) {
  int given_up = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const PlacementTask task = RandomTask(rng, {.max_ops = 80});
    const ScheduleGraph graph(task);
    Dispatcher limited(graph);  // For several placements.
    for (int i = 0; i < 4; ++i) {
      Placement placement(static_cast<size_t>(task.sim.num_ops));
      task.Expand(RandomGroups(task.groups, rng), placement);
      const DispatchRule rule = LongestWayFirst(graph, placement);
      Dispatcher whole(graph);
      const double makespan_us = whole.Run(placement, rule);
      const double limit_us = makespan_us * rng.Uniform(0.5, 1.5);
      const double limited_us = limited.Run(placement, rule, limit_us);
      if (std::isinf(limited_us)) {
        // Ranks count the overhead after an op also where its readers do not wait for it.
        if (task.sim.op_overhead_us == 0) {
          EXPECT_GT(makespan_us, limit_us);
        }
        ++given_up;
        continue;
      }
      EXPECT_EQ(limited_us, makespan_us);
      EXPECT_EQ(limited.orders(), whole.orders());
    }
  }
  EXPECT_GT(given_up, 10);
}

}  // namespace
}  // namespace emplace
