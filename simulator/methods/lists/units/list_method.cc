#include "simulator/methods/lists/units/list_method.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "common/rng.h"
#include "common/strings.h"
#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/lists/priority.h"
#include "simulator/methods/lists/units/unit_graph.h"
#include "simulator/methods/lists/upward_rank.h"
#include "simulator/methods/placement_scorer.h"

namespace emplace {
namespace {

// Passes over a graph of so many ops are made in about 0.1 s; a larger graph gets one.
constexpr int32_t kOpsOfAllPasses = 100000;
// After so many passes, each by the ranks of the placement before, another one hardly finds anything better.
constexpr int32_t kMostPasses = 5;
// No ops but those that cost nothing join.
constexpr double kNeverJoin = std::numeric_limits<double>::max();

int64_t PassesOver(const PlacementTask& task, const ListOptions& own) {
  return own.passes > 0 ? own.passes : std::clamp(kOpsOfAllPasses / task.sim.num_ops, 1, kMostPasses);
}

// How units are made and placed.
struct UnitPlan {
  UnitLimits limits;
  double alpha = 0;
  UnitScorerOptions scorer;
  int64_t passes = 0;
  bool orders = true;
  Rng rng;
};

// Places units of one kind, and scores placements of the whole.
class UnitPlacer {
 public:
  UnitPlacer(const ScheduleGraph& whole, const UnitPlan& plan)
      : whole_(whole),
        plan_(plan),
        units_(whole, plan.limits),
        by_rank_(ByMeanUpwardRank(units_.graph(), plan.alpha)) {}

  // The result, and its score in its order.
  std::pair<MethodResult, SearchScore> Run() {
    int64_t evaluations = 0;
    MethodResult result =
        WithinMemory(whole_.task(), [&](std::span<const double> room_bytes, std::span<double> used_bytes) {
          return BestOfPasses(room_bytes, used_bytes, evaluations);
        });
    result.evaluations += evaluations;
    SearchScore score = *result.score;
    if (!plan_.orders || whole_.stop().Now()) return {std::move(result), score};
    ChosenOrder order = OrderBy("rank", whole_, *result.placement);
    ++result.evaluations;
    if (order.score < score) {
      score = order.score;
      result.orders = std::move(order.orders);
      result.discipline = std::move(order.discipline);
    }
    return {std::move(result), score};
  }

 private:
  Placement BestOfPasses(std::span<const double> room_bytes, std::span<double> used_bytes, int64_t& evaluations) {
    Placement best;
    SearchScore best_score;
    std::vector<OpIndex> by_rank = by_rank_;
    std::vector<double> pass_bytes(used_bytes.size());
    for (int64_t pass = 0; pass < plan_.passes; ++pass) {
      Placement units;
      try {
        units = units_.Place(by_rank, room_bytes, plan_.scorer, plan_.rng.Fork("pass", static_cast<uint64_t>(pass)),
                             pass_bytes);
      } catch (const Stopped&) {
        if (best.empty()) throw;
        break;
      }
      Placement placement = units_.Expanded(units);
      const SearchScore score = plan_.passes > 1 ? ScoreOf(placement) : SearchScore();
      evaluations += plan_.passes > 1 ? 1 : 0;
      if (best.empty() || score < best_score) {
        best = std::move(placement);
        best_score = score;
        std::ranges::copy(pass_bytes, used_bytes.begin());
      }
      if (best_score.bytes_over > 0) break;  // Limits of the memory come before shorter times.
      if (pass + 1 < plan_.passes) by_rank = TopologicalByPlacedRank(units_.graph(), units);
    }
    return best;
  }

  SearchScore ScoreOf(const Placement& placement) {
    if (!scorer_) scorer_.emplace(whole_.task());
    if (plan_.orders) scorer_->SetPriority(PriorityByRank(whole_, placement));
    return scorer_->Score(placement);
  }

  const ScheduleGraph& whole_;
  const UnitPlan plan_;
  UnitGraph units_;
  const std::vector<OpIndex> by_rank_;     // Of the units.
  std::optional<PlacementScorer> scorer_;  // Of the whole; made for the first pass of several.
};

}  // namespace

FieldTable<ListOptions> ListMethod::Options() {
  constexpr char kPlannersOwn[] = "; a planner, such as the one that is the default, has a value of its own";
  FieldTable<ListOptions> table;
  table.Field("alpha", &ListOptions::alpha)
      .Range(0, 100)
      .Help(StrCat("Factor by which the ranks of ops count the time of a transfer while its devices are not known yet",
                   kPlannersOwn));
  table.Field("join", &ListOptions::join)
      .Range(0, 1e9)
      .Help(StrCat(
          "Two ops are placed together when sending a tensor from one to the other takes at least this many times as "
          "long as the shorter of the two ops",
          kPlannersOwn));
  table.Field("most_work", &ListOptions::most_work)
      .Range(0, 1)
      .Help(StrCat("Upper limit of the work of ops that are placed together, as a share of the work of all ops",
                   kPlannersOwn));
  table.Field("passes", &ListOptions::passes)
      .Range(0, 1000)
      .Help(
          "Number of passes, each of which ranks ops by the placement of the pass before. With 5 or more, the method "
          "also tries to place every op by itself. 0: the size of the graph decides");
  table.Field("temperature", &ListOptions::temperature)
      .Range(0, 1e6)
      .Help(
          "0: every op goes to the device with the best score. Otherwise devices are drawn, each with a probability in "
          "proportion to exp(score / temperature)");
  return table;
}

ListMethod::ListMethod(const MethodOptions& options)
    : planner_(options.planner ? *options.planner : PlannerParameters()),
      own_(Options().Filled(options.own, {.alpha = planner_.list.alpha,
                                          .join = planner_.list.units.send_over_compute,
                                          .most_work = planner_.list.units.most_work})),
      orders_(options.orders),
      seed_(options.seed),
      stop_(options.stop) {}

MethodResult ListMethod::Place(const PlacementTask& task) {
  const ScheduleGraph whole(task, stop_);
  MethodResult best;
  SearchScore best_score;
  int64_t evaluations = 0;
  const int64_t passes = PassesOver(task, own_);
  const auto consider = [&](double join) {
    UnitLimits limits = planner_.list.units;
    limits.send_over_compute = join;
    limits.most_work = own_.most_work;
    UnitPlacer placer(whole, {.limits = limits,
                              .alpha = own_.alpha,
                              .scorer = {.weights = planner_.scorer, .temperature = own_.temperature},
                              .passes = passes,
                              .orders = orders_,
                              .rng = Rng(seed_)});
    auto [result, score] = placer.Run();
    evaluations += result.evaluations;
    if (best.placement && !(score < best_score)) return;
    best = std::move(result);
    best_score = score;
  };
  consider(own_.join);
  if (passes >= kMostPasses && !stop_.Now()) {
    try {
      consider(kNeverJoin);
    } catch (const Stopped&) {  // The first result is kept.
    }
  }
  best.evaluations = evaluations;
  return best;
}

}  // namespace emplace
