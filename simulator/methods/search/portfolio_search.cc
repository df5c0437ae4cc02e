#include "simulator/methods/search/portfolio_search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "simulator/methods/disciplines.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/priority.h"
#include "simulator/methods/search/pass.h"
#include "simulator/methods/search/portfolio.h"
#include "simulator/methods/search/walk.h"

namespace emplace {
namespace {

// About the time to score a placement with its ops by rank, and to try all disciplines with it, on graphs of 1,264 to
// 64,893 ops.
constexpr double kRankUsPerOp = 0.25;
constexpr double kBestUsPerOp = 0.9;
// About the time to make a search space.
constexpr double kSpaceUsPerOp = 1.2;
// About the time to make columns, and the share of a search that they may take.
constexpr double kColumnsUsPerOp = 4;
constexpr double kMostShareForColumns = 0.1;
// About the time of a move.
constexpr double kMoveUsPerOp = 0.02;
// The number of moves for each movable unit and device that it could move to from which on more of them pay for a
// hotter walk. On 18 pairs of a graph with 2 to 8 devices 1.5 and 2 are 0.7% better than 13 for each unit alone (1 s),
// which had been measured with 4 devices.
constexpr double kMovesToHeat = 1.5;
// From the seed of one walk to that of the next: odd, so that all are different, and no seed that people choose is
// near.
constexpr uint64_t kSeedsApart = 0x9E3779B97F4A7C15;
// To look at what all threads have found takes them time.
constexpr int64_t kMovesToReport = 16;
// Orders are searched for if ordering the portfolio and the result takes no more than this share of the search.
constexpr double kMostShareToOrder = 0.25;
// The walk without orders then has this share of what is left; with two devices it lasts at least until this progress.
// Without it the walk with orders ends 7 to 9% worse on GNMT, where orders gain nothing. Over 26 pairs of a graph and a
// machine, 15 of them with more than two devices (1 s, two and three seeds), to end it at a progress of 0.25 was 0.7 to
// 0.9% worse than at 0.05, and at 0.1 it was 0.1 to 0.7% worse. With two devices a share of 0.07 was 0.4% worse than
// one of 0.25, and 0.4 was 0.7% worse (four pairs, 5 s, two seeds).
constexpr double kFirstShare = 0.07;
constexpr double kFirstEndOnTwo = 0.25;
// In a large graph the walk without orders makes too few moves to find much. A walk of fewer for each movable unit is
// left out if an order gains this much on the portfolio. On 34,861 to 64,893 ops this took 3 to 29% off what 10 s find.
constexpr double kFewMoves = 0.5;
constexpr double kLargeGain = 0.05;
// On a graph of few units whose first result gets worse by this share when its ops go by rank, a search in a given time
// lets every second thread go on without orders. On GNMT, whose results get 9 to 21% worse, this takes 0.6 to 1.8% off
// what 0.1 s find with two threads, and on 20 other pairs of such a graph and a machine it is level (eight seeds).
constexpr double kLargeLoss = 0.05;

// The name of an order that the search has chosen, beside those of disciplines.h.
constexpr const char* kSearchedOrder = "searched";

// A placement with an order of its ops.
struct OrderedEntry {
  PortfolioEntry entry;  // Its score is with the order.
  DeviceOrders orders;
  std::string discipline;
};

// What a walk found.
struct WalkResult {
  PortfolioEntry entry;     // Its score is with the priority.
  SharedPriority priority;  // null: none
};

OrderedEntry WithOrder(const PortfolioEntry& entry, ChosenOrder order) {
  return {{entry.found_by, entry.placement, order.score}, std::move(order.orders), std::move(order.discipline)};
}

class PortfolioSearch {
 public:
  PortfolioSearch(const PlacementTask& task, const MethodOptions& options, const SearchPlan& plan)
      : task_(task),
        options_(options),
        plan_(plan),
        limit_(options.budget, options.seconds, options.stop),
        team_(options.threads) {}

  MethodResult Run() {
    Portfolio portfolio = MakePortfolio(task_, options_, limit_, team_);
    pace_ = portfolio.pace;
    if (!portfolio.entries.empty()) {
      Keep({portfolio.entries.front(), {}, ""});
      if (limit_.Progress() + Share(0, kSpaceUsPerOp) < 1) Search(portfolio.entries);
    }
    result_.evaluations = limit_.evaluations();
    return std::move(result_);
  }

 private:
  // The number of movable units.
  static double Units(const SearchSpace& space) { return static_cast<double>(space.levels()[0].movable.size()); }
  bool HasFewUnits(const SearchSpace& space) const { return Units(space) <= plan_.few_units.most_units; }

  void Search(std::vector<PortfolioEntry>& portfolio) {
    const SearchSpace space(task_, ColumnsPay());
    if (HasFewUnits(space) && portfolio.front().score.bytes_over > 0) AddAnnealed(portfolio);
    if (space.any() && limit_.Progress() < 1) Improve(space, portfolio);
  }

  // For when nothing fits the memory. A walk only lowers the bytes that are missing, and may end where no move does;
  // annealing begins hot from several placements. Its result becomes the front of the portfolio if it is better.
  void AddAnnealed(std::vector<PortfolioEntry>& portfolio) {
    constexpr double kShare = 0.25;  // Of what is left of the search.
    MethodOptions options{.budget = 0, .seed = options_.seed, .stop = options_.stop};
    if (options_.budget > 0) {
      options.budget = static_cast<int64_t>(kShare * static_cast<double>(limit_.evaluations_left()));
      if (options.budget < 1) return;
    }
    if (options_.seconds > 0) {
      options.seconds = kShare * (options_.seconds - limit_.seconds());
      if (options.seconds <= 0) return;
    }
    MethodResult result = MakeMethod("annealing", options)->Place(task_);
    limit_.Count(result.evaluations);
    if (!result.placement) return;
    if (!(*result.score < portfolio.front().score)) return;
    portfolio.insert(portfolio.begin(), PortfolioEntry{"annealing", std::move(*result.placement), *result.score});
    Keep({portfolio.front(), {}, ""});
  }

  void Keep(const OrderedEntry& found) {
    if (result_.placement && !(found.entry.score < score_)) return;
    score_ = found.entry.score;
    result_.placement = found.entry.placement;
    result_.found_by = found.entry.found_by;
    result_.orders = found.orders;
    result_.discipline = found.discipline;
  }

  void Improve(const SearchSpace& space, const std::vector<PortfolioEntry>& portfolio) {
    if (plan_.ordered == nullptr || !options_.orders || !OrdersPay(portfolio.size())) {
      Keep({WalkFrom(space, {{portfolio.front(), plan_.passes}}).entry, {}, ""});
      return;
    }
    const ScheduleGraph graph(task_);
    std::vector<PortfolioEntry> ranked(portfolio.size());
    team_.ForEach(ranked.size(), [&](size_t /*thread*/, size_t i) { ranked[i] = Ranked(graph, portfolio[i]); });
    limit_.Count(std::ssize(ranked));
    PortfolioEntry start = *std::ranges::min_element(ranked, {}, &PortfolioEntry::score);
    const double end = 1 - ShareToOrderResult();
    const bool ordered_only =
        MovesPerUnit(end, Units(space)) < kFewMoves && Beats(start.score, portfolio.front().score, kLargeGain);
    std::vector<WalkPlan> plans = {{start, {plan_.ordered, 1}, end, &graph}};
    PortfolioEntry found;
    if (const double progress = limit_.Progress(); !ordered_only && progress < end) {
      const double first_end = std::max(progress + kFirstShare * (end - progress),
                                        task_.sim.num_devices == 2 ? std::min(end, kFirstEndOnTwo) : 0);
      found = WalkFrom(space, {{portfolio.front(), plan_.passes, first_end}}).entry;
      Keep({found, {}, ""});
      const PortfolioEntry found_ranked = Ranked(graph, found);
      limit_.Count(1);
      if (found_ranked.score < start.score) start = found_ranked;
      if (HasFewUnits(space) && Beats(found.score, found_ranked.score, kLargeLoss))
        plans.push_back({found, plan_.passes, end});
    }
    KeepOrdered(graph, WalkFrom(space, plans));
  }

  // The entry with its ops by upward rank.
  PortfolioEntry Ranked(const ScheduleGraph& graph, const PortfolioEntry& entry) const {
    return {entry.found_by, entry.placement,
            TrialEvaluator(task_).SetBase(entry.placement,
                                          std::make_shared<const Priority>(ByUpwardRank(graph, entry.placement)))};
  }

  // Keeps the placement of a walk with orders: without an order if it is as good, else in the order that comes of its
  // priority, or in that of a discipline.
  void KeepOrdered(const ScheduleGraph& graph, const WalkResult& found) {
    const Placement& placement = found.entry.placement;
    Keep({{found.entry.found_by, placement, PlacementScorer(task_).Score(placement)}, {}, ""});
    if (found.priority) Keep({found.entry, OrdersUnder(*found.priority, task_.sim, placement), kSearchedOrder});
    Keep(WithOrder(found.entry,
                   task_.HasMicrobatches() ? BestOrder(graph, placement) : OrderBy("rank", graph, placement)));
    limit_.Count(RunsToOrderResult());
  }

  // Whether a score is less than the other by more than this share of its makespan.
  static bool Beats(const SearchScore& score, const SearchScore& other, double gain) {
    return score < SearchScore{.bytes_over = other.bytes_over, .makespan_us = (1 - gain) * other.makespan_us};
  }

  // The disciplines differ most in steps of several micro-batches.
  int64_t RunsToOrderResult() const { return 2 + (task_.HasMicrobatches() ? std::ssize(DisciplineNames()) : 1); }

  // Of the search, for work that takes so many runs or, on a computer of pace 1, so many us for each op.
  double Share(int64_t runs, double us_per_op) const {
    double share = 0;
    if (options_.budget > 0) share = static_cast<double>(runs) / static_cast<double>(options_.budget);
    if (options_.seconds > 0) share = std::max(share, pace_ * us_per_op * 1e-6 * task_.sim.num_ops / options_.seconds);
    return share;
  }
  double ShareToOrderResult() const {
    return Share(RunsToOrderResult(), task_.HasMicrobatches() ? kBestUsPerOp : kRankUsPerOp);
  }
  bool OrdersPay(size_t entries) const {
    const auto runs = static_cast<int64_t>(entries) + 1;  // That of the first walk, too.
    const double share = Share(runs, static_cast<double>(runs) * kRankUsPerOp) + ShareToOrderResult();
    return share <= kMostShareToOrder && limit_.Progress() + share <= 1;
  }

  // Whether columns are moved, and there is time to make them.
  bool ColumnsPay() const {
    return plan_.passes.front().mix.column > 0 && Share(0, kColumnsUsPerOp) <= kMostShareForColumns;
  }

  // The number of moves that a walk over this share of the search makes for each unit.
  double MovesPerUnit(double share, double units) const {
    const double moves = options_.budget > 0 ? static_cast<double>(options_.budget)
                                             : options_.seconds * 1e6 / (pace_ * kMoveUsPerOp * task_.sim.num_ops);
    return share * moves / units;
  }

  // What a walk begins with, and ends by.
  struct WalkPlan {
    const PortfolioEntry& start;
    std::span<const PassPlan> passes;
    double until = 1;                           // Progress.
    const ScheduleGraph* priorities = nullptr;  // As of Walk.
  };

  // The best placement found. A search with a budget must not depend on the number of threads, so they share one walk,
  // by the first plan. But moves are often taken, and those behind them are then evaluated in vain. In a given time
  // walks of their own, of which the best one counts, come farther; they share out the plans. REQUIRES: there is a
  // plan, and all end at the same progress.
  WalkResult WalkFrom(const SearchSpace& space, const std::vector<WalkPlan>& plans) {
    const WalkPlan& first = plans.front();
    if (limit_.Progress() >= first.until) return {first.start, nullptr};
    return options_.budget > 0 || team_.size() == 1 ? WalkTogether(space, first) : WalkApart(space, plans);
  }

  WalkResult WalkTogether(const SearchSpace& space, const WalkPlan& plan) {
    Walk walk(space, limit_, team_, options_.seed, plan.priorities);
    if (options_.progress) walk.ReportTo([&] { Report(limit_.evaluations(), walk.best_score()); });
    walk.Start(plan.start.placement);
    RunPasses(walk, space, limit_, plan);
    return BestOf(walk, plan.start);
  }

  WalkResult WalkApart(const SearchSpace& space, const std::vector<WalkPlan>& plans) {
    // What the others see of a walk; each on a cache line of its own.
    struct alignas(64) Seen {
      std::atomic<int64_t> evaluations = 0;
      std::atomic<double> makespan_us = std::numeric_limits<double>::infinity();  // Of a placement that fits.
    };
    std::vector<WalkResult> found(static_cast<size_t>(team_.size()), {plans.front().start, nullptr});
    std::vector<Seen> seen(found.size());
    team_.ForEach(found.size(), [&](size_t thread, size_t i) {
      const WalkPlan& plan = plans[i % plans.size()];
      const bool leads = thread == 0;  // The thread of the caller, who is told of progress.
      SearchLimit limit = limit_;
      if (limit.Progress() >= plan.until) return;
      const int64_t before = limit.evaluations();
      ThreadTeam alone(1);
      Walk walk(space, limit, alone, options_.seed + i * kSeedsApart, plan.priorities);
      int64_t reports = 0;
      walk.ReportTo([&] {
        seen[i].evaluations.store(limit.evaluations() - before, std::memory_order_relaxed);
        if (walk.best_score().bytes_over == 0)
          seen[i].makespan_us.store(walk.best_score().makespan_us, std::memory_order_relaxed);
        if (!leads || !options_.progress || ++reports % kMovesToReport != 0) return;
        int64_t evaluations = before;
        SearchScore best = walk.best_score();
        for (const Seen& other : seen) {
          evaluations += other.evaluations.load(std::memory_order_relaxed);
          const double makespan_us = other.makespan_us.load(std::memory_order_relaxed);
          if (std::isfinite(makespan_us)) best = std::min(best, SearchScore{.makespan_us = makespan_us});
        }
        Report(evaluations, best);
      });
      walk.Start(plan.start.placement);
      RunPasses(walk, space, limit, plan);
      found[i] = BestOf(walk, plan.start);
      seen[i].evaluations = limit.evaluations() - before;
    });
    for (const Seen& walk : seen) limit_.Count(walk.evaluations);
    return std::move(*std::ranges::min_element(found, {}, [](const WalkResult& walk) { return walk.entry.score; }));
  }

  // The start itself has its name, though the walk may have a priority for it.
  WalkResult BestOf(const Walk& walk, const PortfolioEntry& start) const {
    const bool better = walk.best_score() < start.score;
    return {{better ? plan_.found_by : start.found_by, walk.best(), walk.best_score()}, walk.best_priority()};
  }

  void Report(int64_t evaluations, const SearchScore& best) const {
    options_.progress({limit_.seconds(), evaluations, std::min(best, score_).makespan_us,
                       best < score_ ? plan_.found_by : result_.found_by});
  }

  void RunPasses(Walk& walk, const SearchSpace& space, const SearchLimit& limit, const WalkPlan& plan) const {
    const double begin = limit.Progress();
    const double units = Units(space);
    const double others = task_.sim.num_devices - 1;
    const bool few = HasFewUnits(space);
    const double moves = MovesPerUnit(plan.until - begin, units);
    for (size_t i = 0; i < plan.passes.size(); ++i) {
      const PassPlan& pass = plan.passes[i];
      const double hotter = few ? std::max(1.0, plan_.few_units.hot_by_units / units / pass.hot) : 1;
      const double heat = std::clamp(moves / (kMovesToHeat * others), 1.0, pass.most_heat);
      const double warmer_end = (plan.priorities == nullptr ? hotter : 1) * (others > 1 ? 1 : pass.warmer_end_on_two);
      const double done = static_cast<double>(i + 1) / static_cast<double>(plan.passes.size());
      RunPass(walk, space, limit,
              {.finest = space.LevelWith(pass.most_groups),
               .mix = few ? plan_.few_units.mix : pass.mix,
               .hot = pass.hot * std::max(heat, hotter),
               .cold = pass.cold * warmer_end,
               .until = begin + (plan.until - begin) * done,
               .only_levels_that_pay = pass.only_levels_that_pay});
    }
  }

  const PlacementTask& task_;
  const MethodOptions& options_;
  const SearchPlan& plan_;
  SearchLimit limit_;
  ThreadTeam team_;
  double pace_ = 1;      // As of Portfolio.
  MethodResult result_;  // The best so far,
  SearchScore score_;    // and its score.
};

}  // namespace

MethodResult SearchFromPortfolio(const PlacementTask& task, const MethodOptions& options, const SearchPlan& plan) {
  return PortfolioSearch(task, options, plan).Run();
}

}  // namespace emplace
