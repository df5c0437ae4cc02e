#include "simulator/methods/search/walks.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "simulator/methods/search/pass.h"

namespace emplace {
namespace {

// About the time of a move.
constexpr double kMoveUsPerOp = 0.02;
// The number of moves for each movable unit and device that it could move to from which on more of them pay for a
// hotter walk.
constexpr double kMovesToHeat = 1.5;
// Of moves that relieve busy devices the share falls in proportion where there are more moves for each movable unit:
// walks that have these find as much by others.
constexpr double kMovesToRelieve = 0.15;
// From the seed of one thread's walk, or of one search, to that of the next: odd, so that all are different, and no
// seed that people choose is near.
constexpr uint64_t kSeedsApart = 0x9E3779B97F4A7C15;
constexpr uint64_t kSearchesApart = 0xD1342543DE82EF95;
// To look at what all threads have found takes them time.
constexpr int64_t kMovesToReport = 16;

double Units(const SearchSpace& space) { return static_cast<double>(space.levels()[0].movable.size()); }

}  // namespace

WalkResult Walks::From(const SearchSpace& space, const std::vector<WalkPlan>& plans, const Report& report) {
  const WalkPlan& first = plans.front();
  if (limit_.Progress() >= first.until) return {first.start, first.priority};
  ++searches_;
  return options_.budget > 0 || team_.size() == 1 ? Together(space, first, report) : Apart(space, plans, report);
}

double Walks::MovesPerUnit(const SearchSpace& space, double share) const {
  return limit_.Evaluations(share, kMoveUsPerOp * space.task().sim.num_ops) / Units(space);
}

bool Walks::HasFewUnits(const SearchSpace& space) const { return Units(space) <= plan_.few_units.most_units; }

uint64_t Walks::SeedOf(size_t thread) const {
  return options_.seed + thread * kSeedsApart + searches_ * kSearchesApart;
}

WalkResult Walks::Together(const SearchSpace& space, const WalkPlan& plan, const Report& report) {
  Walk walk(space, limit_, team_, SeedOf(0), plan.priorities);
  if (report) walk.ReportTo([&] { report(limit_.evaluations(), walk.best_score()); });
  walk.Start(plan.start.placement, plan.priority);
  RunPasses(walk, space, limit_, plan);
  return BestOf(walk, plan.start);
}

WalkResult Walks::Apart(const SearchSpace& space, const std::vector<WalkPlan>& plans, const Report& report) {
  // What the others see of a walk; each on a cache line of its own.
  struct alignas(64) Seen {
    std::atomic<int64_t> evaluations = 0;
    std::atomic<double> makespan_us = std::numeric_limits<double>::infinity();  // Of a placement that fits.
  };
  std::vector<WalkResult> found(static_cast<size_t>(team_.size()), {plans.front().start, plans.front().priority});
  std::vector<Seen> seen(found.size());
  team_.ForEach(found.size(), [&](size_t thread, size_t i) {
    const WalkPlan& plan = plans[i % plans.size()];
    const bool leads = thread == 0;  // The thread of the caller, who is told of progress.
    SearchLimit limit = limit_;
    if (limit.Progress() >= plan.until) return;
    const int64_t before = limit.evaluations();
    ThreadTeam alone(1);
    Walk walk(space, limit, alone, SeedOf(i), plan.priorities);
    int64_t reports = 0;
    walk.ReportTo([&] {
      seen[i].evaluations.store(limit.evaluations() - before, std::memory_order_relaxed);
      if (walk.best_score().bytes_over == 0)
        seen[i].makespan_us.store(walk.best_score().makespan_us, std::memory_order_relaxed);
      if (!leads || !report || ++reports % kMovesToReport != 0) return;
      int64_t evaluations = before;
      SearchScore best = walk.best_score();
      for (const Seen& other : seen) {
        evaluations += other.evaluations.load(std::memory_order_relaxed);
        const double makespan_us = other.makespan_us.load(std::memory_order_relaxed);
        if (std::isfinite(makespan_us)) best = std::min(best, SearchScore{.makespan_us = makespan_us});
      }
      report(evaluations, best);
    });
    walk.Start(plan.start.placement, plan.priority);
    RunPasses(walk, space, limit, plan);
    found[i] = BestOf(walk, plan.start);
    seen[i].evaluations = limit.evaluations() - before;
  });
  for (const Seen& walk : seen) limit_.Count(walk.evaluations);
  return std::move(*std::ranges::min_element(found, {}, [](const WalkResult& walk) { return walk.entry.score; }));
}

WalkResult Walks::BestOf(const Walk& walk, const PortfolioEntry& start) const {
  const bool better = walk.best_score() < start.score;
  return {{better ? plan_.found_by : start.found_by, walk.best(), walk.best_score()}, walk.best_priority()};
}

void Walks::RunPasses(Walk& walk, const SearchSpace& space, const SearchLimit& limit, const WalkPlan& plan) const {
  const double begin = limit.Progress();
  const double others = space.task().sim.num_devices - 1;
  const bool few = HasFewUnits(space);
  const double moves = MovesPerUnit(space, plan.until - begin);
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const PassPlan& pass = plan.passes[i];
    const double hotter = few ? std::max(1.0, plan_.few_units.hot_by_units / Units(space) / pass.hot) : 1;
    const double heat = std::clamp(moves / (kMovesToHeat * others), 1.0, pass.most_heat);
    const double warmer_end = (plan.priorities == nullptr ? hotter : 1) * (others > 1 ? 1 : pass.warmer_end_on_two);
    const double done = static_cast<double>(i + 1) / static_cast<double>(plan.passes.size());
    MoveMix mix = few ? plan_.few_units.mix : pass.mix;
    mix.replicas = plan.replicas;
    mix.relief *= std::min(1.0, kMovesToRelieve / moves);
    RunPass(walk, space, limit,
            {.finest = space.LevelWith(pass.most_groups),
             .mix = mix,
             .hot = pass.hot * std::max(heat, hotter),
             .cold = pass.cold * warmer_end,
             .until = begin + (plan.until - begin) * done,
             .only_levels_that_pay = pass.only_levels_that_pay});
  }
}

}  // namespace emplace
