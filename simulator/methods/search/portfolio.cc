#include "simulator/methods/search/portfolio.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "simulator/methods/exact/optimal_method.h"
#include "simulator/methods/policy_method_options.h"
#include "simulator/methods/search/proposer.h"

namespace emplace {
namespace {

// A method may take this share of the search's time, by the estimate below, and optimal also of its budget.
constexpr double kMostTimeShare = 0.5;
// Data-parallel may take this share: with micro-batches nothing that ends sooner comes near its result.
constexpr double kMostTimeShareOfDataParallel = 0.9;

struct Member {
  const char* method;
  // About the time by measurements on graphs of 1,000 to 10,000 ops: where one device has memory for everything, and
  // where none has, so that the method may have to try several limits of the memory.
  double us_per_op;
  double tight_us_per_op;
  int64_t most_runs;  // Simulator runs, at most.
  int32_t most_ops;   // In larger graphs the method takes too long.
  double most_time_share = kMostTimeShare;
  bool microbatches = false;  // Whether it is for graphs with micro-batches only.
  int64_t passes = 0;         // Of `list`.
};

constexpr int32_t kAnySize = 1 << 30;
// In a graph of so many ops, which caches no longer hold, each op takes so many times as long.
constexpr int32_t kLargeOps = 20000;
constexpr double kLargeSlowdown = 1.7;
constexpr Member kMembers[] = {{"data-parallel", 0.25, 0.35, 24, kAnySize, kMostTimeShareOfDataParallel, true},
                               {"list", 5, 9, 44, kLargeOps},
                               {"list", 2, 3, 16, kAnySize, kMostTimeShare, false, 1},
                               {"m-etf", 0.75, 2.4, 8, kAnySize},
                               {"expert", 0.13, 0.7, 8, kAnySize},
                               {"heft", 0.4, 1.2, 8, kAnySize},
                               {"scotch", 3, 5, 8, kAnySize},
                               {"m-sct", 20, 20, 8, 1000}};
// Places in about the time of its simulations, whatever the graph: so there is a placement where nothing else had time.
constexpr const char* kQuickest = "m-topo";
// About the longest time to score the single device on the computer of these measurements. Other work may hold up so
// short a one by more than how slow a computer is.
constexpr double kSingleUsPerOp = 0.08;
constexpr double kMostPace = 4;
// In smaller graphs what is fixed of that time hides how fast the computer is.
constexpr int32_t kFewestOpsToPace = 10000;
// Graphs with so few placements are searched through. A run takes about as long for each op, and for the run itself.
constexpr double kMostSearchedThrough = 4096;
constexpr double kRunUsPerOp = 0.1;
constexpr double kRunUs = 1;

std::optional<Member> SearchedThrough(const PlacementTask& task, const SearchLimit& limit, int64_t evaluations) {
  const double placements = CountGroupPlacements(task);
  if (placements > std::min(kMostSearchedThrough, kMostTimeShare * static_cast<double>(evaluations)))
    return std::nullopt;
  if (limit.Share(0, placements * (kRunUs + kRunUsPerOp * task.sim.num_ops)) > kMostTimeShare) return std::nullopt;
  return Member{"optimal", 0, 0, static_cast<int64_t>(placements), kAnySize};
}

PortfolioEntry Scored(const PlacementTask& task, std::string name, Placement placement) {
  const SearchScore score = PlacementScorer(task).Score(placement);
  return {std::move(name), std::move(placement), score};
}

PortfolioEntry Scored(const PlacementTask& task, std::string name, MethodResult result) {
  if (!result.score) return Scored(task, std::move(name), std::move(*result.placement));
  return {std::move(name), std::move(*result.placement), *result.score};
}

// About the time that work takes which takes so many us for each op of a small graph.
double Us(const PlacementTask& task, double us_per_op) {
  const int32_t ops = task.sim.num_ops;
  return us_per_op * ops * (ops < kLargeOps ? 1 : kLargeSlowdown);
}

// What the method finds until then; nothing if it is stopped before it has a placement.
MethodResult PlacedBefore(const StopSignal& stop, const Member& member, const MethodOptions& options,
                          const PlacementTask& task) {
  MethodOptions own = {
      .seed = options.seed, .own = options.own, .planner = options.planner, .orders = options.orders, .stop = stop};
  own.own.try_emplace("passes", member.passes);
  try {
    return MakeMethod(member.method, own)->Place(task);
  } catch (const Stopped&) {
    return {};
  }
}

bool Fits(const std::optional<PortfolioEntry>& entry) { return entry && entry->score.bytes_over == 0; }

std::optional<PortfolioEntry> Propose(const PlacementTask& task, Proposer& proposer, Placement start) {
  const std::vector<Move> moves = proposer.Candidates(task, {}, start);
  if (moves.empty()) return std::nullopt;
  for (const OpMove& to : moves.front()) start[static_cast<size_t>(to.op)] = to.device;
  return Scored(task, proposer.name(), std::move(start));
}

}  // namespace

std::vector<PortfolioEntry> MakePortfolio(const PlacementTask& task, const MethodOptions& options, SearchLimit& limit,
                                          ThreadTeam& team) {
  std::optional<PortfolioEntry> single;
  if (task.single_device >= 0) {
    const double begin = limit.seconds();
    single = Scored(task, "single", Placement(static_cast<size_t>(task.sim.num_ops), task.single_device));
    const double pace = 1e6 * (limit.seconds() - begin) / Us(task, kSingleUsPerOp);
    if (task.sim.num_ops >= kFewestOpsToPace) limit.SetPace(std::clamp(pace, 1.0, kMostPace));
  }
  const bool tight = !single || single->score.bytes_over > 0;
  std::vector<Member> members;
  bool first_is_needed = false;
  int64_t runs = 1;
  for (const Member& member : kMembers) {
    if (member.microbatches && !task.HasMicrobatches()) continue;
    // One with fewer passes is for where there is no time for more.
    if (!members.empty() && std::string_view(members.back().method) == member.method) continue;
    const double us = Us(task, tight ? member.tight_us_per_op : member.us_per_op);
    const double share = limit.Share(0, us);
    const bool too_long = share > member.most_time_share || limit.Progress() + share > 1;
    const bool too_many = runs + member.most_runs > limit.evaluations_left();
    // Where no single device will do, a method is needed to have a placement at all, or one that fits the memory.
    const bool needed = members.empty() && (!single || (tight && !too_many));
    if (task.sim.num_ops > member.most_ops || ((too_long || too_many) && !needed)) continue;
    first_is_needed = first_is_needed || needed;
    members.push_back(member);
    runs += member.most_runs;
  }
  if (const std::optional<Member> optimal = SearchedThrough(task, limit, limit.evaluations_left() - runs)) {
    members.push_back(*optimal);
    runs += optimal->most_runs;
  }
  std::vector<std::optional<PortfolioEntry>> found(members.size() + 2);
  std::vector<int64_t> evaluations(found.size());
  evaluations[0] = single ? 1 : 0;
  found[0] = std::move(single);
  team.ForEach(members.size(), [&](size_t /*thread*/, size_t i) {
    const bool needed = first_is_needed && i == 0 && (task.single_device < 0 || !limit.stopped());
    if (!needed && limit.Progress() >= 1) return;
    MethodResult result = PlacedBefore(limit.stop(), members[i], options, task);
    evaluations[i + 1] = result.evaluations;
    if (result.placement) found[i + 1] = Scored(task, members[i].method, std::move(result));
  });
  const int64_t samples = PolicyMethodOptions::Table().Filled(options.own).samples;
  if (options.make_policy && samples > 0 && limit.Progress(runs + samples + 1) <= 1) {
    MethodResult result = options.make_policy(options)->Place(task);
    evaluations.back() = result.evaluations;
    if (result.placement) found.back() = Scored(task, "policy", std::move(result));
  } else if (options.make_proposer && limit.Progress(runs + 1) <= 1) {
    const auto any = std::find_if(found.begin(), found.end(), [](const auto& entry) { return entry.has_value(); });
    if (any != found.end()) found.back() = Propose(task, *options.make_proposer(options.seed), (*any)->placement);
    evaluations.back() = found.back() ? 1 : 0;
  }
  if (limit.stop().Now() && std::ranges::none_of(found, Fits)) {
    MethodResult result = MakeMethod(kQuickest, {})->Place(task);
    evaluations.push_back(result.evaluations);
    found.emplace_back();
    if (result.placement) found.back() = Scored(task, kQuickest, std::move(result));
  }
  std::vector<PortfolioEntry> portfolio;
  for (size_t i = 0; i < found.size(); ++i) {
    limit.Count(evaluations[i]);
    if (found[i]) portfolio.push_back(std::move(*found[i]));
  }
  std::stable_sort(portfolio.begin(), portfolio.end(),
                   [](const PortfolioEntry& a, const PortfolioEntry& b) { return a.score < b.score; });
  return portfolio;
}

}  // namespace emplace
