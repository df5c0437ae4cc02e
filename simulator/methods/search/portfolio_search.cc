#include "simulator/methods/search/portfolio_search.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "simulator/methods/disciplines.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search/order_evaluator.h"
#include "simulator/methods/search/pass.h"
#include "simulator/methods/search/portfolio.h"
#include "simulator/methods/search/trial_evaluator.h"

namespace emplace {
namespace {

// About the time to order a placement by rank, and to try all disciplines with it, on graphs of 2,700 to 21,000 ops.
// Only the second one has been measured by itself.
constexpr double kRankUsPerOp = 0.6;
constexpr double kBestUsPerOp = 2.4;
// About the time of a move without orders. With them a move takes at least kRankUsPerOp.
constexpr double kMoveUsPerOp = 0.02;
// The number of moves for each movable unit from which on more of them pay for a hotter walk. Up to it, and on graphs
// of hundreds of units, walks of any heat from 0.2% to 2% of the makespan were as good as one another; with ten times
// as many moves the hottest was 1% better.
constexpr double kMovesToHeat = 13;
// Orders are searched for if ordering the portfolio and the result takes no more than this share of the search.
constexpr double kMostShareToOrder = 0.25;
// The progress from which on the walk without orders then ends, after a level, if a placement with an order is better
// than its best by more than the gain below.
constexpr double kBeginOrders = 0.5;
constexpr double kLeastGain = 0.02;  // The walk without orders goes on to find as much more, and costs far less.

// A placement with an order of its ops.
struct OrderedEntry {
  PortfolioEntry entry;  // Its score is with the order.
  DeviceOrders orders;
  std::string discipline;
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
    std::vector<PortfolioEntry> portfolio = MakePortfolio(task_, options_, limit_, team_);
    if (!portfolio.empty()) {
      const SearchSpace space(task_);
      if (HasFewUnits(space) && portfolio.front().score.bytes_over > 0) AddAnnealed(portfolio);
      Keep({portfolio.front(), {}, ""});
      if (space.any() && limit_.Progress() < 1) Improve(space, portfolio);
    }
    result_.evaluations = limit_.evaluations();
    return std::move(result_);
  }

 private:
  bool HasFewUnits(const SearchSpace& space) const {
    return std::ssize(space.levels()[0].movable) <= plan_.few_units.most_units;
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
    const SearchScore score = PlacementScorer(task_).Score(*result.placement);
    if (!(score < portfolio.front().score)) return;
    portfolio.insert(portfolio.begin(), PortfolioEntry{"annealing", std::move(*result.placement), score});
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
    const auto without_orders = [&] { return std::make_unique<TrialEvaluator>(task_); };
    if (!plan_.orders || !options_.orders || !OrdersPay(portfolio.size())) {
      Keep({WalkFrom(space, portfolio.front(), 1, kMoveUsPerOp, without_orders), {}, ""});
      return;
    }
    const ScheduleGraph graph(task_);
    std::vector<OrderedEntry> ordered(portfolio.size());
    team_.ForEach(ordered.size(), [&](size_t /*thread*/, size_t i) {
      ordered[i] = WithOrder(portfolio[i], OrderBy("rank", graph, portfolio[i].placement));
    });
    limit_.Count(std::ssize(ordered));
    OrderedEntry least = std::move(*std::ranges::min_element(
        ordered, {}, [](const OrderedEntry& ordered_entry) { return ordered_entry.entry.score; }));
    Keep(least);
    // Whether an order gains more than the walk is likely to.
    const auto orders_gain = [&](const PortfolioEntry& found) {
      if (limit_.Progress() < kBeginOrders) return false;
      OrderedEntry with_order = WithOrder(found, OrderBy("rank", graph, found.placement));
      limit_.Count(1);
      if (with_order.entry.score < least.entry.score) least = std::move(with_order);
      return least.entry.score < SearchScore{.bytes_over = found.score.bytes_over,
                                             .makespan_us = (1 - kLeastGain) * found.score.makespan_us};
    };
    const double end = 1 - ShareToOrderResult();
    const PortfolioEntry found = WalkFrom(space, portfolio.front(), end, kMoveUsPerOp, without_orders, orders_gain);
    Keep({found, {}, ""});
    Keep(least);
    PortfolioEntry last = found;
    if (limit_.Progress() < end) {
      last = WalkFrom(space, least.entry, end, kRankUsPerOp, [&] { return std::make_unique<OrderEvaluator>(graph); });
    }
    Keep(WithOrder(
        last, task_.HasMicrobatches() ? BestOrder(graph, last.placement) : OrderBy("rank", graph, last.placement)));
    limit_.Count(RunsToOrderResult());
  }

  // The disciplines differ most in steps of several micro-batches.
  int64_t RunsToOrderResult() const { return task_.HasMicrobatches() ? std::ssize(DisciplineNames()) : 1; }

  // Of the search, for work that takes so many runs or so many us for each op.
  double Share(int64_t runs, double us_per_op) const {
    double share = 0;
    if (options_.budget > 0) share = static_cast<double>(runs) / static_cast<double>(options_.budget);
    if (options_.seconds > 0) share = std::max(share, us_per_op * 1e-6 * task_.sim.num_ops / options_.seconds);
    return share;
  }
  double ShareToOrderResult() const {
    return Share(RunsToOrderResult(), task_.HasMicrobatches() ? kBestUsPerOp : kRankUsPerOp);
  }
  bool OrdersPay(size_t entries) const {
    const auto runs = static_cast<int64_t>(entries) + 1;
    return Share(runs, static_cast<double>(runs) * kRankUsPerOp) + ShareToOrderResult() <= kMostShareToOrder;
  }

  // The number of moves that a walk over this share of the search makes for each unit; a move takes us_per_op.
  double MovesPerUnit(double share, double us_per_op, double units) const {
    const double moves = options_.budget > 0 ? static_cast<double>(options_.budget)
                                             : options_.seconds * 1e6 * team_.size() / (us_per_op * task_.sim.num_ops);
    return share * moves / units;
  }

  // The best placement of a walk from `start` that ends at this progress, or after a level where `stop`, if there is
  // one, says so of the best placement by then. A move takes us_per_op for each op of the graph.
  PortfolioEntry WalkFrom(const SearchSpace& space, const PortfolioEntry& start, double until, double us_per_op,
                          const std::function<std::unique_ptr<MoveEvaluator>()>& make_evaluator,
                          const std::function<bool(const PortfolioEntry&)>& stop = nullptr) {
    const double begin = limit_.Progress();
    if (begin >= until) return start;
    Walk walk(space, limit_, team_, options_.seed, make_evaluator);
    if (options_.progress) {
      walk.ReportTo([&] {
        const bool improved = walk.best_score() < score_;
        options_.progress({limit_.seconds(), limit_.evaluations(), std::min(walk.best_score(), score_).makespan_us,
                           improved ? plan_.found_by : result_.found_by});
      });
    }
    const auto best = [&]() -> PortfolioEntry {
      if (!(walk.best_score() < start.score)) return start;
      return {plan_.found_by, walk.best(), walk.best_score()};
    };
    walk.Start(start.placement);
    const auto units = static_cast<double>(space.levels()[0].movable.size());
    const bool few = HasFewUnits(space);
    const double moves = MovesPerUnit(until - begin, us_per_op, units);
    for (size_t i = 0; i < plan_.passes.size(); ++i) {
      const PassPlan& pass = plan_.passes[i];
      const double hotter = few ? std::max(1.0, plan_.few_units.hot_by_units / units / pass.hot) : 1;
      const double heat = std::clamp(moves / kMovesToHeat, 1.0, pass.most_heat);
      const double done = static_cast<double>(i + 1) / static_cast<double>(plan_.passes.size());
      RunPass(walk, space, limit_,
              {.finest = space.LevelWith(pass.most_groups),
               .mix = few ? plan_.few_units.mix : pass.mix,
               .hot = pass.hot * std::max(heat, hotter),
               .cold = pass.cold * hotter,
               .until = begin + (until - begin) * done,
               .only_levels_that_pay = pass.only_levels_that_pay,
               .stop = [&] { return stop && stop(best()); }});
    }
    return best();
  }

  const PlacementTask& task_;
  const MethodOptions& options_;
  const SearchPlan& plan_;
  SearchLimit limit_;
  ThreadTeam team_;
  MethodResult result_;  // The best so far,
  SearchScore score_;    // and its score.
};

}  // namespace

MethodResult SearchFromPortfolio(const PlacementTask& task, const MethodOptions& options, const SearchPlan& plan) {
  return PortfolioSearch(task, options, plan).Run();
}

}  // namespace emplace
