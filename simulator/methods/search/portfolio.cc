#include "simulator/methods/search/portfolio.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>

#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/lists/priority.h"
#include "simulator/methods/lists/units/unit_scorer.h"
#include "simulator/methods/planner_parameters.h"
#include "simulator/methods/policy_method_options.h"
#include "simulator/methods/search/part_task.h"
#include "simulator/methods/search/search_plan.h"
#include "simulator/methods/search/trial_evaluator.h"
#include "simulator/methods/stages/chain.h"

namespace emplace {
namespace {

// A method may take this share of the search's time, by the estimate below.
constexpr double kMostTimeShare = 0.5;
// These may take this share, since nothing that ends sooner comes near their results: data-parallel with micro-batches,
// and one pass of `list`.
constexpr double kMostTimeShareOfTheBest = 0.9;
// All passes of `list` may take this share: on large graphs they take half of their estimate.
constexpr double kMostTimeShareOfList = 0.75;
// Those that are seldom the best may take this share: Scotch where `list` has had time, and what leaves out devices.
constexpr double kMostTimeShareOfScotch = 0.2;
constexpr double kMostTimeShareOfParts = 0.1;
// On large graphs these may take this share: a pass of `list` finds more than they do, and a search has much to do.
constexpr double kMostTimeShareOnLarge = 0.2;
// Of `list`: with so many it places single ops, too.
constexpr int64_t kAllPasses = 5;
constexpr int64_t kFewPasses = 3;

struct Member {
  const char* method;
  // About the time by measurements on graphs of 1,000 to 10,000 ops: where one device has memory for everything, and
  // where none has, so that the method may have to try several limits of the memory.
  double us_per_op;
  double tight_us_per_op;
  int32_t most_ops = std::numeric_limits<int32_t>::max();  // In larger graphs the method takes too long.
  double most_time_share = kMostTimeShare;
  bool microbatches = false;  // Whether it is for graphs with micro-batches only.
  int64_t passes = 0;         // Of `list`.
  int32_t divisor = 1;        // It places on this part of the devices.
  // As set by hand, beside what a planner has learned, for graphs that are unlike those of its training.
  bool by_hand = false;
  // Whether only kMostTimeShareOnLarge is for it in a graph of kLargeOps without micro-batches.
  bool for_small = false;
  // Whether it is only for unlike devices of which no single one has memory for everything.
  bool unlike_and_tight = false;
};

// In a graph of so many ops, which caches no longer hold, each op takes so many times as long.
constexpr int32_t kLargeOps = 20000;
constexpr double kLargeSlowdown = 1.7;
// With a budget, in this order.
constexpr Member kMembers[] = {
    {.method = "data-parallel",
     .us_per_op = 0.25,
     .tight_us_per_op = 0.35,
     .most_time_share = kMostTimeShareOfTheBest,
     .microbatches = true},
    {.method = "expert", .us_per_op = 0.13, .tight_us_per_op = 0.7},
    {.method = "heft", .us_per_op = 0.4, .tight_us_per_op = 1.2, .for_small = true},
    {.method = "m-etf", .us_per_op = 0.75, .tight_us_per_op = 2.4, .for_small = true},
    {.method = "list",
     .us_per_op = 5,
     .tight_us_per_op = 9,
     .most_time_share = kMostTimeShareOfList,
     .passes = kAllPasses},
    {.method = "list", .us_per_op = 2, .tight_us_per_op = 3, .passes = 1},
    {.method = "list", .us_per_op = 3, .tight_us_per_op = 5, .passes = kFewPasses, .by_hand = true},
    {.method = "list",
     .us_per_op = 1.2,
     .tight_us_per_op = 1.5,
     .most_time_share = kMostTimeShareOfTheBest,
     .passes = 1,
     .by_hand = true},
    {.method = "scotch", .us_per_op = 3, .tight_us_per_op = 5, .most_time_share = kMostTimeShareOfScotch},
    {.method = "m-sct", .us_per_op = 20, .tight_us_per_op = 20, .most_ops = 1000},
    {.method = "list",
     .us_per_op = 2,
     .tight_us_per_op = 3,
     .most_time_share = kMostTimeShareOfParts,
     .passes = 1,
     .divisor = 2},
    {.method = "list",
     .us_per_op = 2,
     .tight_us_per_op = 3,
     .most_time_share = kMostTimeShareOfParts,
     .passes = 1,
     .divisor = 4},
    {.method = "knapsack", .us_per_op = 10, .tight_us_per_op = 10, .unlike_and_tight = true}};
// Both place in about the time of a simulation, so that there is a placement where nothing else had time. Steps of the
// first one are shorter, and the second one fits where memory is tight.
constexpr const char* kQuickest[] = {"expert", "m-topo"};
// About the longest time to score the single device on the computer of these measurements. Other work may hold up so
// short a one by more than how slow a computer is.
constexpr double kSingleUsPerOp = 0.08;
constexpr double kMostPace = 4;
// In smaller graphs what is fixed of that time hides how fast the computer is.
constexpr int32_t kFewestOpsToPace = 10000;
// So many times as long `list` takes where a planner scores devices, once there are the search levels by which it does.
constexpr double kScorerSlowdown = 2.2;
// About the longest time to divide a chain of a few hundred ops, and the share of the search's time that it may take.
constexpr double kChainUs = 200'000;
constexpr double kChainTimeShare = 0.25;
constexpr double kRankUsPerOp = PhaseRules().rank_us_per_op;

// About the time that work takes which takes so many us for each op of a small graph.
double Us(const PlacementTask& task, double us_per_op) {
  const int32_t ops = task.sim.num_ops;
  return us_per_op * ops * (ops < kLargeOps ? 1 : kLargeSlowdown);
}

// What the method finds until then; nothing if it is stopped before it has a placement. orders: whether it may order
// ops.
MethodResult PlacedBefore(const StopSignal& stop, const Member& member, bool orders, const MethodOptions& options,
                          const PlacementTask& task) {
  MethodOptions own = {.seed = options.seed, .own = options.own, .orders = orders, .stop = stop};
  if (!member.by_hand) own.planner = options.planner;
  own.own.try_emplace("passes", member.passes);
  const std::unique_ptr<PlacementMethod> method = MakeMethod(member.method, own);
  try {
    if (member.divisor == 1) return method->Place(task);
    const auto devices = DevicesTogether(task, task.sim.num_devices / member.divisor);
    if (!devices) return {};
    const PartTask part(task, *devices);
    MethodResult result = method->Place(part.task());
    if (result.placement) result.placement = part.Expanded(*result.placement);
    return result;
  } catch (const Stopped&) {
    return {};
  }
}

class PortfolioMaker {
 public:
  PortfolioMaker(const PlacementTask& task, const MethodOptions& options, const ScheduleGraph* graph,
                 SearchLimit& limit, ThreadTeam& team)
      : task_(task), options_(options), graph_(graph), limit_(limit), team_(team) {}

  std::vector<PortfolioEntry> Make() {
    AddSingle();
    if (!found_.empty()) AddPolicy();
    const bool tight = Tight();
    AddMembers();
    if (tight || task_.HasMicrobatches()) AddChain();
    if (found_.empty()) AddPolicy();
    if (limit_.stop().Now()) AddQuickest();
    std::ranges::stable_sort(found_, {}, &PortfolioEntry::score);
    return std::move(found_);
  }

 private:
  struct Found {
    PortfolioEntry entry;
    int64_t evaluations;  // But for that of its ranks.
  };

  static bool Fits(const PortfolioEntry& entry) { return entry.score.bytes_over == 0; }
  bool Tight() const { return task_.single_device < 0 || std::ranges::none_of(found_, Fits); }
  int64_t Left() const { return std::max<int64_t>(0, limit_.evaluations_left()); }

  void AddSingle() {
    if (task_.single_device < 0) return;
    const double begin = limit_.seconds();
    Placement placement(static_cast<size_t>(task_.sim.num_ops), task_.single_device);
    const SearchScore score = PlacementScorer(task_).Score(placement);
    const double pace = 1e6 * (limit_.seconds() - begin) / Us(task_, kSingleUsPerOp);
    if (task_.sim.num_ops >= kFewestOpsToPace) limit_.SetPace(std::clamp(pace, 1.0, kMostPace));
    limit_.Count(1);
    PortfolioEntry single = {"single", std::move(placement), score};
    Ask(single);
    Append(std::move(single));
  }

  // Tries the order that is asked for, if one is.
  void Ask(PortfolioEntry& entry) const {
    if (options_.order.empty() || graph_ == nullptr) return;
    entry.asked_order = OrderNamed(options_.order, *graph_, entry.placement);
    entry.asked = entry.asked_order.score;
  }

  // What a method has found, if anything; `ranked`: with its score by ranks, where there is time.
  std::optional<Found> FoundBy(std::string name, MethodResult result, bool ranked) const {
    if (!result.placement) return std::nullopt;
    Found found = {{std::move(name), std::move(*result.placement), {}, {}}, result.evaluations};
    found.entry.score = result.score ? *result.score : PlacementScorer(task_).Score(found.entry.placement);
    found.evaluations += result.score ? 0 : 1;
    if (ranked && graph_ != nullptr && !limit_.stopped() &&
        limit_.Progress() + limit_.Share(1, Us(task_, kRankUsPerOp)) <= 1) {
      auto priority = std::make_shared<const Priority>(PriorityByRank(*graph_, found.entry.placement));
      found.entry.ranked = TrialEvaluator(task_).SetBase(found.entry.placement, priority);
    }
    if (ranked && !limit_.stop().Now()) Ask(found.entry);
    return found;
  }

  // Adds what was found as far as the budget goes. However much it has taken, it comes if it is needed.
  void Add(std::optional<Found> found, bool needed = false) {
    if (!found) return;
    if (found->evaluations > Left() && !needed) return limit_.Forfeit(Left());
    limit_.Count(found->evaluations);
    Append(std::move(found->entry));
  }

  // With its scores in other orders as far as the budget goes.
  void Append(PortfolioEntry entry) {
    KeepIfAfforded(entry.ranked, 1);
    KeepIfAfforded(entry.asked, RunsToFindOrder(options_.order));
    found_.push_back(std::move(entry));
  }
  void KeepIfAfforded(std::optional<SearchScore>& score, int64_t runs) {
    if (!score) return;
    if (Left() < runs) score.reset();
    limit_.Count(std::min(runs, Left()));
  }

  // What a policy places: the best of its samples, or of one that places groups the greedy placement where there is no
  // time for samples. The greedy one of a policy that plans is a member's.
  void AddPolicy() {
    if (!options_.make_policy) return;
    const int64_t samples = PolicyMethodOptions::Table().Filled(options_.own).samples;
    const bool sampled = samples > 0 && limit_.Progress(samples + 1) <= 1;
    if (!sampled && !(options_.PolicyPlacesGroups() && limit_.Progress(1) <= 1)) return;
    MethodOptions own = options_;
    own.stop = limit_.stop();
    if (!sampled) own.own["samples"] = int64_t{0};
    try {
      Add(FoundBy("policy", options_.make_policy(own)->Place(task_), true));
    } catch (const Stopped&) {
      return;
    }
  }

  // Whether a planner scores devices for `list` by more than when a unit ends on them.
  bool Scores() const {
    return options_.planner && !UnitScorerOptions{.weights = options_.planner->scorer}.TakesFirstFinish();
  }

  // The members for which there is time.
  std::vector<Member> Members() const {
    std::vector<Member> members;
    const bool tight = Tight();
    const bool scores = Scores();
    const bool unlike =
        std::ranges::adjacent_find(task_.device_kinds, std::ranges::not_equal_to()) != task_.device_kinds.end();
    for (const Member& member : kMembers) {
      if ((member.microbatches && !task_.HasMicrobatches()) || (member.by_hand && !scores) ||
          (member.unlike_and_tight && !(tight && unlike)))
        continue;
      if (member.divisor > 1 && task_.sim.num_devices < 2 * member.divisor) continue;  // One device is there already.
      // One with fewer passes is for where there is no time for more.
      if (!members.empty() && IsQuicker(member, members.back())) continue;
      double us_per_op = tight ? member.tight_us_per_op : member.us_per_op;
      if (member.passes > 0 && !member.by_hand && scores)
        us_per_op = kScorerSlowdown * us_per_op + LevelsUsPerOp(task_);
      const double share = limit_.Share(0, Us(task_, us_per_op));
      const bool too_large = member.for_small && task_.sim.num_ops >= kLargeOps && !task_.HasMicrobatches();
      const double most_share = too_large ? kMostTimeShareOnLarge : member.most_time_share;
      const bool too_long = share > most_share || limit_.Progress() + share > 1;
      if (task_.sim.num_ops > member.most_ops || (too_long && !(tight && members.empty()))) continue;
      members.push_back(member);
    }
    return members;
  }

  // Whether it is the same method with fewer passes.
  static bool IsQuicker(const Member& member, const Member& than) {
    return std::string_view(member.method) == than.method && member.divisor == 1 && member.by_hand == than.by_hand;
  }

  void AddMembers() {
    std::vector<Member> members = Members();
    // Where no single device will do, a method is needed to have a placement at all, or one that fits the memory.
    const bool tight = Tight();
    // In a short time what is best comes first.
    if (options_.budget == 0 && !members.empty()) {
      std::stable_partition(members.begin() + (tight ? 1 : 0), members.end(),
                            [](const Member& member) { return member.most_time_share == kMostTimeShareOfTheBest; });
    }
    const bool none = found_.empty();
    // Of those that have no part of the budget none is begun, but for the first one where nothing is there yet.
    const int64_t free = none && !members.empty() ? 1 : 0;
    const auto count = static_cast<size_t>(free + std::min(std::ssize(members) - free, Left()));
    std::vector<std::optional<Found>> found(count);
    team_.ForEach(count, [&](size_t /*thread*/, size_t i) {
      const bool needed = tight && i == 0 && (none || !limit_.stopped());
      if (!needed && limit_.Progress() >= 1) return;
      // A single pass would only order what FoundBy ranks anyway.
      const bool orders = options_.orders && (members[i].passes != 1 || graph_ == nullptr);
      found[i] = FoundBy(members[i].method, PlacedBefore(limit_.stop(), members[i], orders, options_, task_), true);
    });
    for (size_t i = 0; i < count; ++i) Add(std::move(found[i]), none && i == 0);
    if (count < members.size()) limit_.Forfeit(Left());
  }

  // Until something fits.
  void AddQuickest() {
    for (const char* method : kQuickest) {
      if (std::ranges::any_of(found_, Fits)) return;
      Add(FoundBy(method, MakeMethod(method, {})->Place(task_), false));
    }
  }

  // The exact division of a chain, such as a language model's layers: where memory decides, or with micro-batches,
  // moves of single groups have a hard time to find it. Not with a budget, of which it would take no share that is
  // known before.
  void AddChain() {
    if (options_.budget > 0 || limit_.Progress() + limit_.Share(0, kChainUs) > kMostTimeShare) return;
    MethodOptions own = {.seconds = kChainTimeShare * options_.seconds, .stop = limit_.stop()};
    try {
      Add(FoundBy("chain", ChainMethod(own).Place(task_), true));
    } catch (const Stopped&) {
      return;
    }
  }

  const PlacementTask& task_;
  const MethodOptions& options_;
  const ScheduleGraph* const graph_;
  SearchLimit& limit_;
  ThreadTeam& team_;
  std::vector<PortfolioEntry> found_;
};

}  // namespace

double LevelsUsPerOp(const PlacementTask& task) { return task.levels->AllMade() ? 0 : 3; }

std::vector<PortfolioEntry> MakePortfolio(const PlacementTask& task, const MethodOptions& options,
                                          const ScheduleGraph* graph, SearchLimit& limit, ThreadTeam& team) {
  return PortfolioMaker(task, options, graph, limit, team).Make();
}

}  // namespace emplace
