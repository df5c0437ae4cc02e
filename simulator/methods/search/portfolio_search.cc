#include "simulator/methods/search/portfolio_search.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/error.h"
#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/lists/priority.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search/portfolio.h"
#include "simulator/methods/search/replica_task.h"
#include "simulator/methods/search/replicas.h"
#include "simulator/methods/search/walks.h"
#include "simulator/task/coarse_task.h"

namespace emplace {
namespace {

// The name of an order that the search has chosen, beside those of disciplines.h.
constexpr const char* kSearchedOrder = "searched";

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
        limit_(options.budget, options.seconds, options.stop, options.begin),
        team_(options.threads),
        walks_(options, plan, limit_, team_) {}

  MethodResult Run() {
    std::vector<PortfolioEntry> portfolio = MakePortfolio(task_, options_, limit_, team_);
    if (!portfolio.empty()) {
      Keep({portfolio.front(), {}, ""});
      if (options_.orders && plan_.ordered != nullptr && !OrdersPay(portfolio.size())) KeepRanked(portfolio);
      if (limit_.Progress() + Share(0, plan_.phases.space_us_per_op) < 1) {
        SearchUntilStopped(portfolio);
      } else if (plan_.anneals_short_searches) {
        AddAnnealed(1, portfolio);
      }
    }
    result_.evaluations = limit_.evaluations();
    return std::move(result_);
  }

 private:
  void SearchUntilStopped(std::vector<PortfolioEntry>& portfolio) {
    try {
      Search(portfolio);
    } catch (const Stopped&) {  // The best so far is kept.
    }
  }

  void Search(std::vector<PortfolioEntry>& portfolio) {
    const SearchSpace space(task_, ColumnsPay(), limit_.stop());
    if (walks_.HasFewUnits(space) && portfolio.front().score.bytes_over > 0)
      AddAnnealed(plan_.phases.share_to_fit, portfolio);
    if (!space.any() && OrdersPay(portfolio.size())) KeepRanked(portfolio);
    if (space.any() && limit_.Progress() < 1) Improve(space, portfolio);
  }

  // Anneals the policy's groups in this share of what is left of the search. The result becomes the front of the
  // portfolio if it is better.
  void AddAnnealed(double share, std::vector<PortfolioEntry>& portfolio) {
    MethodOptions options{.budget = 0, .seed = options_.seed, .stop = options_.stop};
    if (options_.budget > 0) {
      options.budget = static_cast<int64_t>(share * static_cast<double>(limit_.evaluations_left()));
      if (options.budget < 1) return;
    }
    if (options_.seconds > 0) {
      options.seconds = share * (options_.seconds - limit_.seconds());
      if (options.seconds <= 0) return;
    }
    MethodResult result = MakeMethod("annealing", options)->Place(task_);
    limit_.Count(result.evaluations);
    if (!result.placement) return;
    EMPLACE_CHECK(result.score);
    if (*result.score < portfolio.front().score)
      Add({"annealing", std::move(*result.placement), *result.score}, portfolio);
  }

  // Keeps the entries in the order of their upward ranks, as many as there is time for, from the best one on.
  void KeepRanked(const std::vector<PortfolioEntry>& portfolio) {
    if (limit_.Progress() + Share(1, kRunsToRankFirst * plan_.phases.rank_us_per_op) > 1) return;
    const ScheduleGraph graph(task_);
    for (const PortfolioEntry& entry : portfolio) {
      if (limit_.Progress() + Share(1, plan_.phases.rank_us_per_op) > 1) return;
      Keep(WithOrder(entry, OrderBy("rank", graph, entry.placement)));
      limit_.Count(1);
    }
  }

  // Adds an entry, behind those that are as good.
  void Add(PortfolioEntry entry, std::vector<PortfolioEntry>& portfolio) {
    const auto at = std::ranges::upper_bound(portfolio, entry.score, {}, &PortfolioEntry::score);
    portfolio.insert(at, std::move(entry));
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

  void Improve(const SearchSpace& space, std::vector<PortfolioEntry>& portfolio) {
    if (!OrdersPay(portfolio.size())) return ImproveWithoutOrders(space, portfolio.front());
    const ScheduleGraph graph(task_);
    if (const std::optional<size_t> level = LevelToContract(space, portfolio.size())) AddCoarse(*level, portfolio);
    if (!OrdersPay(portfolio.size())) return ImproveWithoutOrders(space, portfolio.front());
    PortfolioEntry start = BestRanked(graph, portfolio);
    if (const std::optional<Replicas> replicas = ReplicasThatPay())
      start = BestMirrored(graph, space, *replicas, start, portfolio);
    constexpr double kRounding = 1e-9;  // Of shares: no more than the budget.
    const double end = 1 - ShareToOrderResult() - kRounding;
    const bool ordered_only = walks_.MovesPerUnit(space, end) < plan_.phases.few_moves &&
                              Beats(start.score, portfolio.front().score, plan_.phases.large_gain);
    std::vector<WalkPlan> plans = {{start, {plan_.ordered, 1}, end, &graph}};
    PortfolioEntry found;
    if (const double progress = limit_.Progress(); !ordered_only && progress < end) {
      const double first_end = std::max(progress + plan_.phases.first_share * (end - progress),
                                        task_.sim.num_devices == 2 ? std::min(end, plan_.phases.first_end_on_two) : 0);
      found = RunWalks(space, {{portfolio.front(), plan_.passes, first_end}}).entry;
      Keep({found, {}, ""});
      const PortfolioEntry found_ranked = Ranked(graph, found);
      limit_.Count(1);
      if (found_ranked.score < start.score) start = found_ranked;
      if (walks_.HasFewUnits(space) && Beats(found.score, found_ranked.score, plan_.phases.large_loss))
        plans.push_back({found, plan_.passes, end});
    }
    KeepOrdered(graph, RunWalks(space, plans));
  }

  void ImproveWithoutOrders(const SearchSpace& space, const PortfolioEntry& start) {
    Keep({RunWalks(space, {{start, plan_.passes}}).entry, {}, ""});
  }

  // Adds what a walk finds on the graph contracted by this level, if that is much smaller than the whole: it has more
  // ops than the level has groups.
  void AddCoarse(size_t level, std::vector<PortfolioEntry>& portfolio) {
    const CoarseTask coarse(
        task_, {task_.search_levels.begin() + static_cast<std::ptrdiff_t>(level), task_.search_levels.end()});
    if (coarse.task().sim.num_ops > plan_.phases.most_ops_left * task_.sim.num_ops) return;
    const SearchSpace space(coarse.task(), plan_.coarse->mix.column > 0, limit_.stop());
    if (!space.any()) return;
    const ScheduleGraph graph(coarse.task());
    std::vector<PortfolioEntry> starts = portfolio;
    for (PortfolioEntry& start : starts) start.placement = coarse.Coarsened(start.placement);
    const PortfolioEntry start = BestRanked(graph, starts);
    const double progress = limit_.Progress();
    const WalkResult found =
        RunWalks(space, {{start, {plan_.coarse, 1}, progress + plan_.phases.coarse_share * (1 - progress), &graph}});
    Placement placement = coarse.Expanded(found.entry.placement);
    const SearchScore score = PlacementScorer(task_).Score(placement);
    limit_.Count(1);
    Add({plan_.found_by, std::move(placement), score}, portfolio);
  }

  // What a walk finds for one replica, repeated for all.
  PortfolioEntry Replicated(const Replicas& replicas) {
    const ReplicaTask replica(task_, replicas);
    const SearchSpace space(replica.task(), ColumnsPay(), limit_.stop());
    const ScheduleGraph graph(replica.task());
    PortfolioEntry found =
        Ranked(graph, {plan_.found_by, Placement(static_cast<size_t>(replica.task().sim.num_ops), 0), {}});
    limit_.Count(1);
    if (space.any()) {
      const double progress = limit_.Progress();
      found =
          RunWalks(space, {{found, {plan_.ordered, 1}, progress + plan_.phases.replica_share * (1 - progress), &graph}})
              .entry;
    }
    return {plan_.found_by, replica.Expanded(found.placement), {}};
  }

  // Adds what a walk finds in which all replicas do the same: from one replica that is repeated, or, with replicas of
  // one device, from `ranked`. Returns the better one of `ranked`, the best with its ops by upward rank, and what was
  // found.
  PortfolioEntry BestMirrored(const ScheduleGraph& graph, const SearchSpace& space, const Replicas& replicas,
                              const PortfolioEntry& ranked, std::vector<PortfolioEntry>& portfolio) {
    PortfolioEntry start = ranked;
    if (replicas.width() > 1) {
      start = Ranked(graph, Replicated(replicas));
      limit_.Count(1);
      if (start.score.bytes_over > portfolio.front().score.bytes_over) return ranked;
    }
    const double progress = limit_.Progress();
    const double until = progress + plan_.phases.mirrored_share * (1 - progress);
    const WalkResult found = RunWalks(space, {{start, {plan_.ordered, 1}, until, &graph, &replicas}});
    Add({found.entry.found_by, found.entry.placement, KeepFound(found)}, portfolio);
    const PortfolioEntry found_ranked = Ranked(graph, found.entry);
    limit_.Count(kRunsToKeepFound + 1);
    return std::min(ranked, found_ranked, [](const auto& a, const auto& b) { return a.score < b.score; });
  }

  // The best of the entries with their ops by upward rank.
  PortfolioEntry BestRanked(const ScheduleGraph& graph, const std::vector<PortfolioEntry>& entries) {
    std::vector<PortfolioEntry> ranked(entries.size());
    team_.ForEach(ranked.size(), [&](size_t /*thread*/, size_t i) { ranked[i] = Ranked(graph, entries[i]); });
    limit_.Count(std::ssize(ranked));
    return std::move(*std::ranges::min_element(ranked, {}, &PortfolioEntry::score));
  }

  // The entry with its ops by upward rank.
  static PortfolioEntry Ranked(const ScheduleGraph& graph, const PortfolioEntry& entry) {
    auto priority = std::make_shared<const Priority>(ByUpwardRank(graph, entry.placement));
    return {entry.found_by, entry.placement, TrialEvaluator(graph.task()).SetBase(entry.placement, priority)};
  }

  // Keeps the placement of a walk with orders: without an order if it is as good, else in the order that comes of its
  // priority. Returns its score without an order.
  SearchScore KeepFound(const WalkResult& found) {
    const Placement& placement = found.entry.placement;
    const SearchScore score = PlacementScorer(task_).Score(placement);
    Keep({{found.entry.found_by, placement, score}, {}, ""});
    if (found.priority) Keep({found.entry, OrdersUnder(*found.priority, task_.sim, placement), kSearchedOrder});
    return score;
  }

  // Does the same, or keeps it in the order of a discipline if that is better.
  void KeepOrdered(const ScheduleGraph& graph, const WalkResult& found) {
    const Placement& placement = found.entry.placement;
    KeepFound(found);
    Keep(WithOrder(found.entry,
                   task_.HasMicrobatches() ? BestOrder(graph, placement) : OrderBy("rank", graph, placement)));
    limit_.Count(RunsToOrderResult());
  }

  // Whether a score is less than the other by more than this share of its makespan.
  static bool Beats(const SearchScore& score, const SearchScore& other, double gain) {
    return score < SearchScore{.bytes_over = other.bytes_over, .makespan_us = (1 - gain) * other.makespan_us};
  }

  // The disciplines differ most in steps of several micro-batches.
  int64_t RunsToOrderResult() const {
    return kRunsToKeepFound + (task_.HasMicrobatches() ? std::ssize(DisciplineNames()) : 1);
  }

  double Share(int64_t runs, double us_per_op) const { return limit_.Share(runs, us_per_op * task_.sim.num_ops); }
  double ShareToOrderResult() const {
    return Share(RunsToOrderResult(),
                 task_.HasMicrobatches() ? plan_.phases.best_order_us_per_op : plan_.phases.rank_us_per_op);
  }
  bool OrdersPay(size_t entries) const {
    if (plan_.ordered == nullptr || !options_.orders) return false;
    const auto runs = static_cast<int64_t>(entries) + 1;  // That of the first walk, too.
    const double share = Share(runs, static_cast<double>(runs) * plan_.phases.rank_us_per_op) + ShareToOrderResult();
    return share <= plan_.phases.most_share_to_order && limit_.Progress() + share <= 1;
  }

  // The level by which to contract the graph, if it gets much smaller, and there is time. In a step of several
  // micro-batches a contracted graph finds nothing better than data-parallel and mirrored moves.
  std::optional<size_t> LevelToContract(const SearchSpace& space, size_t entries) const {
    if (plan_.coarse == nullptr || task_.HasMicrobatches()) return std::nullopt;
    const size_t level = space.LevelWith(plan_.phases.most_coarse_groups);
    if (space.levels()[level].num_groups() > plan_.phases.most_ops_left * task_.sim.num_ops) return std::nullopt;
    // Runs of the entries, of the start of the walk, of a priority and of the result.
    const double share = Share(static_cast<int64_t>(entries) + 3, plan_.phases.coarse_us_per_op);
    if (share > plan_.phases.most_share_for_coarse || limit_.Progress() + share > 1) return std::nullopt;
    return level;
  }

  // The replicas of the micro-batches, if there is time for them.
  std::optional<Replicas> ReplicasThatPay() const {
    // Runs of what the two walks begin from, ranked and at their starts, and of the result.
    const double share = Share(4 + kRunsToKeepFound + 1, plan_.phases.coarse_us_per_op);
    if (share > plan_.phases.most_share_for_coarse || limit_.Progress() + share > 1) return std::nullopt;
    return Replicas::Of(task_);
  }

  // Whether columns are moved, and there is time to make them.
  bool ColumnsPay() const {
    return plan_.passes.front().mix.column > 0 &&
           Share(0, plan_.phases.columns_us_per_op) <= plan_.phases.most_share_for_columns;
  }

  // Tells of progress. What walks find on a contracted graph or for one replica is no score of a placement, so it is
  // not told.
  WalkResult RunWalks(const SearchSpace& space, const std::vector<WalkPlan>& plans) {
    Walks::Report report;
    if (options_.progress) {
      report = [&](int64_t evaluations, const SearchScore& best) {
        Report(evaluations, &space.task() == &task_ ? best : score_);
      };
    }
    return walks_.From(space, plans, report);
  }

  void Report(int64_t evaluations, const SearchScore& best) const {
    options_.progress({limit_.seconds(), evaluations, std::min(best, score_).makespan_us,
                       best < score_ ? plan_.found_by : result_.found_by});
  }

  static constexpr double kRunsToRankFirst = 2;   // What is needed to rank takes as long as a run.
  static constexpr int64_t kRunsToKeepFound = 2;  // Of KeepFound.

  const PlacementTask& task_;
  const MethodOptions& options_;
  const SearchPlan& plan_;
  SearchLimit limit_;
  ThreadTeam team_;
  Walks walks_;
  MethodResult result_;  // The best so far,
  SearchScore score_;    // and its score.
};

}  // namespace

MethodResult SearchFromPortfolio(const PlacementTask& task, const MethodOptions& options, const SearchPlan& plan) {
  return PortfolioSearch(task, options, plan).Run();
}

}  // namespace emplace
