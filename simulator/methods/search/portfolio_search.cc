#include "simulator/methods/search/portfolio_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/error.h"
#include "simulator/methods/exact/optimal_method.h"
#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/lists/priority.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search/found_results.h"
#include "simulator/methods/search/phase_choice.h"
#include "simulator/methods/search/portfolio.h"
#include "simulator/methods/search/replica_task.h"
#include "simulator/methods/search/replicas.h"
#include "simulator/methods/search/walks.h"
#include "simulator/task/coarse_task.h"

namespace emplace {
namespace {

// The name of an order that the search has chosen, beside those of disciplines.h.
constexpr const char* kSearchedOrder = "searched";

// The entry with its ops by upward rank.
WalkResult Ranked(const ScheduleGraph& graph, const PortfolioEntry& entry) {
  auto priority = std::make_shared<const Priority>(PriorityByRank(graph, entry.placement));
  const SearchScore score = TrialEvaluator(graph.task()).SetBase(entry.placement, priority);
  return {{entry.found_by, entry.placement, score}, std::move(priority)};
}

// A smaller task on which walks cost less, and the best that they have found there.
template <typename Task>
struct SmallerTask {
  template <typename... Args>
  SmallerTask(bool columns, const StopSignal& stop, Args&&... args)
      : task(std::forward<Args>(args)...), space(task.task(), columns, stop), graph(task.task()) {}

  const Task task;
  const SearchSpace space;
  const ScheduleGraph graph;
  std::optional<WalkResult> best;
};

class PortfolioSearch {
 public:
  PortfolioSearch(const PlacementTask& task, const MethodOptions& options, const SearchPlan& plan)
      : task_(task),
        options_(options),
        plan_(plan),
        limit_(options.budget, options.seconds, options.stop, options.begin),
        team_(options.threads),
        walks_(options, plan, limit_, team_),
        choice_(task, options, plan, limit_, walks_) {}

  MethodResult Run() {
    if (InOrderAsked() || choice_.RanksFirst()) graph_.emplace(task_, InOrderAsked() ? OrderStop() : limit_.stop());
    portfolio_ = MakePortfolio(task_, options_, graph_ ? &*graph_ : nullptr, limit_, team_);
    if (!portfolio_.empty()) {
      KeepPortfolio();
      for (const PortfolioEntry& entry : portfolio_) FitByOrder(entry);
      if (options_.progress) Report(limit_.evaluations(), found_.score());
      if (choice_.HasTimeToWalk()) {
        try {
          Search();
        } catch (const Stopped&) {  // The best so far is kept.
        }
      } else if (plan_.anneals_short_searches && !limit_.stopped()) {
        AddAnnealed(1);
      }
    }
    MethodResult result = found_.result();
    result.evaluations = limit_.evaluations();
    return result;
  }

 private:
  void KeepPortfolio() {
    const PortfolioEntry& ranked = BestBy(&PortfolioEntry::ranked);
    if (!InOrderAsked()) {
      found_.Add(portfolio_.front());
      if (ranked.ranked && !limit_.stopped()) KeepRanked(ranked);
      return;
    }
    found_.KeepAsAsked(BestBy(&PortfolioEntry::asked));
    found_.KeepUnorderedStart(portfolio_.front());
    if (ranked.ranked) found_.KeepOrderedStart(Ranked(*graph_, ranked));
  }

  // The entry with the best such score; the first one where none has it.
  const PortfolioEntry& BestBy(std::optional<SearchScore> PortfolioEntry::*score) const {
    return *std::ranges::min_element(portfolio_, [score](const PortfolioEntry& a, const PortfolioEntry& b) {
      return a.*score && (!(b.*score) || *(a.*score) < *(b.*score));
    });
  }

  // Keeps the entry in the order of its ranks, too.
  void KeepRanked(const PortfolioEntry& entry) {
    found_.KeepOrderedStart(Ranked(*graph_, entry));
    if (found_.ordered()->entry.score < found_.score())
      found_.Keep(WithOrder(entry, OrderBy("rank", *graph_, entry.placement)));
  }

  // Where nothing fits so far, the entry may fit in the order that holds the least. Faster ones are tried later.
  void FitByOrder(const PortfolioEntry& entry) {
    if (found_.score().bytes_over == 0 || !choice_.MayOrder() || InOrderAsked() || limit_.Ended()) return;
    if (!choice_.FitsByOrder() || !limit_.Affords(1, kRunsToKeepFound)) return;
    if (!graph_) graph_.emplace(task_, options_.stop);
    limit_.Count(1);
    found_.Keep(WithOrder(entry, OrderBy("least-memory", *graph_, entry.placement)));
  }

  void Search() {
    std::optional<SearchSpace> space;
    for (int round = 0; BeginRound(round); ++round) {
      const bool columns = choice_.MovesColumns();
      if (!space || (columns && space->columns().empty())) space.emplace(task_, columns, limit_.stop());
      if (!space->any()) return;
      AddOptimal();
      if (walks_.HasFewUnits(*space) && found_.unordered()->score.bytes_over > 0)
        AddAnnealed(plan_.phases.share_to_fit);
      Improve(*space);
      if (!limit_.Ended()) FitByOrder(*found_.unordered());
    }
  }

  // Begins the next round, if anything is left of the search. Rounds do not depend on the budget, nor on the time but
  // for the last one, which fits into what is left.
  bool BeginRound(int round) {
    const double left_us =
        static_cast<double>(choice_.RunsToOrderResult()) * choice_.OrderUsPerOp() * task_.sim.num_ops;
    int64_t evaluations = 0;
    double seconds = 0;
    if (options_.budget > 0) evaluations = plan_.phases.first_round << round;
    if (options_.seconds > 0) {
      const double now = limit_.seconds();
      seconds = std::min(options_.seconds, std::exp2(std::ceil(std::log2(plan_.phases.least_growth * now)))) - now;
      if (seconds <= 0) return false;
    }
    limit_.BeginRound(evaluations, seconds, kRunsToKeepFound, left_us);
    return !limit_.Ended();
  }

  // Searches tiny graphs through.
  void AddOptimal() {
    const double placements = CountGroupPlacements(task_);
    if (searched_through_ || placements > plan_.phases.most_searched_through) return;
    const double us = placements * (kRunUs + kRunUsPerOp * task_.sim.num_ops);
    if (limit_.Share(static_cast<int64_t>(placements), us) > 1) return;
    searched_through_ = true;
    if (!limit_.Affords(static_cast<int64_t>(placements), kRunsToKeepFound)) return;
    MethodResult result = MakeMethod("optimal", {.budget = 1, .stop = limit_.stop()})->Place(task_);
    AddResult("optimal", std::move(result));
  }

  // Anneals the policy's groups in this share of the round.
  void AddAnnealed(double share) {
    MethodOptions options{.budget = 0, .seed = options_.seed, .stop = options_.stop};
    if (options_.budget > 0) {
      options.budget = static_cast<int64_t>(limit_.Evaluations(share, 0));
      if (options.budget < 1 || !limit_.Affords(options.budget, kRunsToKeepFound)) return;
    }
    if (options_.seconds > 0) {
      options.seconds = std::min(share * limit_.RoundSeconds(), options_.seconds - limit_.seconds());
      if (options.seconds <= 0) return;
    }
    AddResult("annealing", MakeMethod("annealing", options)->Place(task_));
  }

  void AddResult(const char* name, MethodResult result) {
    limit_.Count(result.evaluations);
    if (!result.placement) return;
    const SearchScore score = result.score ? *result.score : PlacementScorer(task_).Score(*result.placement);
    found_.Add({name, std::move(*result.placement), score});
  }

  // Ends the search for the order that is asked for: it may go on after the time for as long as one takes.
  StopSignal OrderStop() const {
    if (options_.seconds <= 0) return options_.stop;
    return options_.stop.After(options_.begin.value_or(StopSignal::Clock::now()),
                               options_.seconds + SecondsToOrder(options_.order, task_));
  }
  bool InOrderAsked() const { return !options_.order.empty(); }

  void Improve(const SearchSpace& space) {
    if (!choice_.Orders()) return ImproveWithoutOrders(space);
    if (!graph_) graph_.emplace(task_, limit_.stop());
    if (!found_.ordered()) {
      KeepRanked(*found_.unordered());
      limit_.Count(1);
    }
    OrderPortfolio();
    if (choice_.Relieves(space)) {
      AddRelieved(space);
      if (limit_.Ended()) return;
    }
    if (const std::optional<size_t> level = LevelToContract(space)) AddCoarse(*level);
    if (choice_.Mirrors() && HasReplicas()) AddMirrored(space);
    constexpr double kRounding = 1e-9;  // Of shares: no more than the round.
    const double end = 1 - choice_.ShareToOrderResult() - kRounding;
    const bool ordered_only = walks_.MovesPerUnit(space, end) < plan_.phases.few_moves &&
                              Beats(found_.ordered()->entry.score, found_.unordered()->score, plan_.phases.large_gain);
    bool without = false;  // Whether some threads go on without orders.
    if (const double progress = limit_.Progress(); !ordered_only && progress < end) {
      const std::optional<bool> pays = AddUnordered(space, progress, end);
      if (!pays) return;
      without = *pays;
    }
    AddOrdered(space, end, without);
  }

  void ImproveWithoutOrders(const SearchSpace& space) {
    const PortfolioEntry start = *found_.unordered();
    found_.Add(RunWalks(space, {{start, nullptr, plan_.passes}}).entry);
  }

  // Adds what a walk without orders finds in the first part of what is left, and its ranks. Returns whether these make
  // it so much longer that some threads are to go on without orders; nothing: the search is over.
  std::optional<bool> AddUnordered(const SearchSpace& space, double progress, double end) {
    const double first_end = std::max(progress + plan_.phases.first_share * (end - progress),
                                      task_.sim.num_devices == 2 ? std::min(end, plan_.phases.first_end_on_two) : 0);
    const WalkResult found = RunWalks(space, {{*found_.unordered(), nullptr, plan_.passes, first_end}});
    found_.Add(found.entry);
    if (limit_.Ended()) return std::nullopt;
    WalkResult ranked = Ranked(*graph_, found.entry);
    limit_.Count(1);
    const bool longer = Beats(found.entry.score, ranked.entry.score, plan_.phases.large_loss);
    found_.KeepOrderedStart(std::move(ranked));
    return walks_.HasFewUnits(space) && longer;
  }

  // Adds what a walk with orders finds in the rest. without: some threads walk without orders.
  void AddOrdered(const SearchSpace& space, double end, bool without) {
    const WalkResult start = *found_.ordered();
    std::vector<WalkPlan> plans = {{start.entry, start.priority, {plan_.ordered, 1}, end, &*graph_}};
    if (without) plans.push_back({*found_.unordered(), nullptr, plan_.passes, end});
    KeepOrdered(RunWalks(space, plans));
  }

  // Steps of several micro-batches: keeps the portfolio's entries in the order of the best discipline, once there is
  // time.
  void OrderPortfolio() {
    if (portfolio_ordered_ || !task_.HasMicrobatches() || InOrderAsked()) return;
    if (!choice_.OrdersPortfolio(std::ssize(portfolio_))) return;
    portfolio_ordered_ = true;
    const int64_t runs = RunsToFindOrder("best");
    for (const PortfolioEntry& entry : portfolio_) {
      if (limit_.Ended() || !limit_.Affords(runs, kRunsToKeepFound)) return;
      found_.Keep(WithOrder(entry, BestOrder(*graph_, entry.placement)));
      limit_.Count(runs);
    }
  }

  // Adds what moves find that relieve busy devices.
  void AddRelieved(const SearchSpace& space) {
    const WalkResult found = WalkFrom(*found_.ordered(), plan_.relief, plan_.phases.relief_share, space, *graph_);
    found_.KeepOrderedStart(found);
    KeepFound(found);
  }

  // Adds what a walk finds on the graph contracted by this level, if that is much smaller than the whole: it has more
  // ops than the level has groups.
  void AddCoarse(size_t level) {
    if (!coarse_) {
      const std::vector<std::vector<GroupIndex>>& all = task_.levels->All();
      coarse_ = std::make_unique<SmallerTask<CoarseTask>>(
          plan_.coarse->mix.column > 0, limit_.stop(), task_,
          std::vector<std::vector<GroupIndex>>(all.begin() + static_cast<std::ptrdiff_t>(level), all.end()));
    }
    if (coarse_->task.task().sim.num_ops > plan_.phases.most_ops_left * task_.sim.num_ops || !coarse_->space.any())
      return;
    std::vector<PortfolioEntry> entries = coarse_->best ? std::vector<PortfolioEntry>() : portfolio_;
    entries.push_back(found_.ordered()->entry);
    if (!limit_.Affords(std::ssize(entries), kRunsToKeepFound)) return;
    std::vector<WalkResult> starts(entries.size());
    team_.ForEach(entries.size(), [&](size_t /*thread*/, size_t i) {
      entries[i].placement = coarse_->task.Coarsened(entries[i].placement);
      starts[i] = Ranked(coarse_->graph, entries[i]);
    });
    limit_.Count(std::ssize(starts));
    if (coarse_->best) starts.push_back(std::move(*coarse_->best));
    const WalkResult& start =
        *std::ranges::min_element(starts, {}, [](const WalkResult& found) { return found.entry.score; });
    coarse_->best = WalkFrom(start, plan_.coarse, plan_.phases.coarse_share, coarse_->space, coarse_->graph);
    if (limit_.Ended() || !limit_.Affords(2, kRunsToKeepFound)) return;
    PortfolioEntry found = {plan_.found_by, coarse_->task.Expanded(coarse_->best->entry.placement), {}};
    found.score = PlacementScorer(task_).Score(found.placement);
    limit_.Count(2);
    found_.Add(found);
    KeepRanked(found);
  }

  // Goes on with the walk for one replica. Returns whether that has found something better.
  bool ImproveReplica() {
    if (!replica_)
      replica_ = std::make_unique<SmallerTask<ReplicaTask>>(choice_.MovesColumns(), limit_.stop(), task_, *replicas_);
    const bool first = !replica_->best;
    if (first) {
      const auto ops = static_cast<size_t>(replica_->task.task().sim.num_ops);
      replica_->best = Ranked(replica_->graph, {plan_.found_by, Placement(ops, 0), {}});
      limit_.Count(1);
    }
    if (!replica_->space.any()) return first;
    const WalkResult start = *replica_->best;
    replica_->best = WalkFrom(start, plan_.ordered, plan_.phases.replica_share, replica_->space, replica_->graph);
    return first || replica_->best->entry.score < start.entry.score;
  }

  // Adds what a walk finds in which all replicas do the same: from the best such walk before, or from one replica that
  // is repeated, if that is better, or with replicas of one device first from the best with an order.
  void AddMirrored(const SearchSpace& space) {
    WalkResult start = mirrored_ ? *mirrored_ : *found_.ordered();
    if (replicas_->width() > 1 && ImproveReplica()) {
      if (limit_.Ended() || !limit_.Affords(1, kRunsToKeepFound)) return;
      WalkResult found =
          Ranked(*graph_, {plan_.found_by, replica_->task.Expanded(replica_->best->entry.placement), {}});
      limit_.Count(1);
      if (!mirrored_ || found.entry.score < start.entry.score) start = std::move(found);
      if (start.entry.score.bytes_over > found_.unordered()->score.bytes_over) return;
    }
    WalkResult found = WalkFrom(start, plan_.ordered, plan_.phases.mirrored_share, space, *graph_, &*replicas_);
    found_.KeepOrderedStart(found);
    KeepFound(found);
    if (!mirrored_ || found.entry.score < mirrored_->entry.score) mirrored_ = std::move(found);
  }

  // Keeps the placement of a walk with orders: without an order if it is as good, else in the order that comes of its
  // priority.
  void KeepFound(const WalkResult& found) {
    if (!found.priority) return found_.Add(found.entry);
    if (!(found.entry.score < found_.score())) return;
    limit_.Count(kRunsToKeepFound);
    if (!limit_.Ended()) {
      const SearchScore score = PlacementScorer(task_).Score(found.entry.placement);
      found_.Add({found.entry.found_by, found.entry.placement, score});
    }
    if (InOrderAsked()) return found_.KeepAsAsked(found.entry);
    found_.Keep({found.entry, OrdersUnder(*found.priority, task_.sim, found.entry.placement), kSearchedOrder});
  }

  // Does the same, or keeps it in the order of a discipline if that is better.
  void KeepOrdered(const WalkResult& found) {
    if (found.priority) found_.KeepOrderedStart(found);
    KeepFound(found);
    if (InOrderAsked()) return found_.KeepAsAsked(found.entry);
    if ((options_.budget > 0 && limit_.Ended()) ||
        !limit_.Affords(choice_.RunsToOrderResult() - kRunsToKeepFound, kRunsToKeepFound))
      return;
    const Placement& placement = found.entry.placement;
    found_.Keep(WithOrder(
        found.entry, task_.HasMicrobatches() ? BestOrder(*graph_, placement) : OrderBy("rank", *graph_, placement)));
    limit_.Count(choice_.RunsToOrderResult() - kRunsToKeepFound);
  }

  // Whether a score is less than the other by more than this share of its makespan.
  static bool Beats(const SearchScore& score, const SearchScore& other, double gain) {
    return score < SearchScore{.bytes_over = other.bytes_over, .makespan_us = (1 - gain) * other.makespan_us};
  }

  // Whether micro-batches have replicas.
  bool HasReplicas() {
    if (!replicas_) replicas_ = Replicas::Of(task_);
    return replicas_.has_value();
  }

  std::optional<size_t> LevelToContract(const SearchSpace& space) const {
    return choice_.LevelToContract(space, coarse_ ? std::nullopt : std::optional<int64_t>(std::ssize(portfolio_)));
  }

  // A walk with orders for this share of what is left of the round.
  WalkResult WalkFrom(const WalkResult& start, const PassPlan* pass, double share, const SearchSpace& space,
                      const ScheduleGraph& graph, const Replicas* replicas = nullptr) {
    const double progress = limit_.Progress();
    const double until = progress + share * (1 - progress);
    return RunWalks(space, {{start.entry, start.priority, {pass, 1}, until, &graph, replicas}});
  }

  // Tells of progress. What walks find on a contracted graph or for one replica is no score of a placement, so it is
  // not told.
  WalkResult RunWalks(const SearchSpace& space, const std::vector<WalkPlan>& plans) {
    Walks::Report report;
    if (options_.progress) {
      report = [&](int64_t evaluations, const SearchScore& best) {
        Report(evaluations, &space.task() == &task_ ? best : found_.score());
      };
    }
    return walks_.From(space, plans, report);
  }

  void Report(int64_t evaluations, const SearchScore& best) const {
    const bool found_now = !InOrderAsked() && best < found_.score();  // Walks know nothing of that order.
    const SearchScore& least = found_now ? best : found_.score();
    options_.progress({.seconds = limit_.seconds(),
                       .evaluations = evaluations,
                       .best_us = least.makespan_us,
                       .fits = least.bytes_over == 0,
                       .found_by = found_now ? plan_.found_by : found_.result().found_by});
  }

  // About the time of a run on a tiny graph, for each op and for itself.
  static constexpr double kRunUsPerOp = 0.1;
  static constexpr double kRunUs = 1;

  const PlacementTask& task_;
  const MethodOptions& options_;
  const SearchPlan& plan_;
  SearchLimit limit_;
  ThreadTeam team_;
  Walks walks_;
  PhaseChoice choice_;
  std::optional<ScheduleGraph> graph_;  // Where ops are ordered.
  FoundResults found_{options_, limit_, graph_};
  std::vector<PortfolioEntry> portfolio_;
  bool portfolio_ordered_ = false;
  bool searched_through_ = false;
  std::unique_ptr<SmallerTask<CoarseTask>> coarse_;
  std::optional<Replicas> replicas_;
  std::unique_ptr<SmallerTask<ReplicaTask>> replica_;
  std::optional<WalkResult> mirrored_;  // The best so far in which all replicas do the same.
};

}  // namespace

MethodResult SearchFromPortfolio(const PlacementTask& task, const MethodOptions& options, const SearchPlan& plan) {
  return PortfolioSearch(task, options, plan).Run();
}

}  // namespace emplace
