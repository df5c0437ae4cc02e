#include "simulator/methods/search/throughput_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/rng.h"
#include "common/sort_unique.h"
#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/max_load.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search/load_state.h"
#include "simulator/methods/search/thread_team.h"
#include "simulator/methods/search_limit.h"

namespace emplace {
namespace {

// Moves of the first round; each further one has twice as many.
constexpr int64_t kFirstMoves = 20'000;
constexpr int kMostAnnealings = 40;
// About as many moves take as long as a simulation, and count as one evaluation.
constexpr int64_t kMovesOfEvaluation = 200;
constexpr int64_t kMostEvaluations = std::numeric_limits<int64_t>::max() / kMovesOfEvaluation;
constexpr int64_t kMovesBetweenLooks = 64;
// What a move may add to the load, as a share of it, at the begin and at the end of a round.
constexpr double kHot = 0.2;
constexpr double kCold = 2e-5;
// `dp` may take this share of the time, the others that place to begin with this one, and the state of a search so many
// numbers.
constexpr double kMostTimeShareOfDp = 0.5;
constexpr double kMostTimeShareOfStarts = 0.2;
constexpr int64_t kMostNumbers = 100'000'000;
// About the time to make that state, for each op.
constexpr double kStateUsPerOp = 4;
constexpr double kToNeighbour = 0.7;
constexpr double kFromBusiest = 0.5;
constexpr double kSwap = 0.2;
constexpr double kFinestLevel = 0.6;
constexpr int kLooksForBusiest = 8;
// Of `auto` for the latency, which also looks for what fits.
constexpr int64_t kBudgetToFit = 300;
// After that, simulations of single moves, and the share of the time, to find something that fits.
constexpr int kMovesToFit = 1000;
constexpr double kTimeShareToFit = 0.2;
constexpr double kGain = 1 - 1e-9;  // Less is rounding.

// A placement as the objective sees it.
struct LoadCandidate {
  Placement placement;
  int64_t bytes_over = 0;
  double load_us = 0;
  std::string found_by;

  bool operator<(const LoadCandidate& other) const {
    if (bytes_over != other.bytes_over) return bytes_over < other.bytes_over;
    return load_us < kGain * other.load_us;
  }
};

// Scores placements in the order in which they will run, which their memory depends on. Not thread-safe.
class LoadScorer {
 public:
  // order: as of MethodOptions. REQUIRES: task outlives it.
  LoadScorer(const PlacementTask& task, std::string order) : task_(task), order_(std::move(order)), scorer_(task) {
    if (!order_.empty()) graph_.emplace(task);
  }

  int64_t BytesOver(std::span<const DeviceIndex> placement) {
    return (graph_ ? OrderNamed(order_, *graph_, placement).score : scorer_.Score(placement)).bytes_over;
  }
  LoadCandidate Scored(Placement placement, std::string found_by) {
    const int64_t bytes_over = BytesOver(placement);
    const double load_us = MaxLoadUs(task_.sim, placement);
    return {std::move(placement), bytes_over, load_us, std::move(found_by)};
  }

 private:
  const PlacementTask& task_;
  const std::string order_;
  PlacementScorer scorer_;
  std::optional<ScheduleGraph> graph_;  // Where an order is asked for.
};

// The annealing of one thread.
class LoadAnnealer {
 public:
  // order: as of MethodOptions.
  LoadAnnealer(const PlacementTask& task, const std::string& order, const StopSignal& stop)
      : task_(task),
        stop_(stop),
        state_(task),
        scorer_(task, order),
        always_fits_(MostBytes(task.sim) <= *std::ranges::min_element(task.sim.memory_bytes)) {
    const std::vector<GroupIndex>& finest = task.levels->Finest();
    for (const std::vector<GroupIndex>& level : task.levels->All(stop)) {
      std::vector<std::pair<int32_t, int32_t>> sets_of_group;
      for (size_t o = 0; o < level.size(); ++o) sets_of_group.emplace_back(level[o], finest[o]);
      SortUnique(sets_of_group);
      levels_.push_back(CsrFromPairs(CountOf(level), sets_of_group));
      // Nested: any op of the set tells its group.
      std::vector<int32_t> group_of_set(static_cast<size_t>(state_.num_sets()));
      for (const auto& [group, set] : sets_of_group) group_of_set[static_cast<size_t>(set)] = group;
      group_of_set_.push_back(std::move(group_of_set));
    }
  }

  // One round from `best`, which it replaces if it finds something better that fits the memory. Returns the moves made,
  // of which there are `most` at most: as far as it goes, a round that ends early is the same.
  int64_t Round(uint64_t seed, int64_t moves, int64_t most, LoadCandidate& best) {
    Rng rng(seed);
    state_.Reset(best.placement);
    least_us_ = best.load_us * kGain;
    found_.reset();
    int64_t move = 0;
    for (; move < most; ++move) {
      if (move % kMovesBetweenLooks == 0 && stop_.Now()) break;
      const double part = static_cast<double>(move) / static_cast<double>(moves);
      if (const int doublings = 4 + static_cast<int>(3 * part); doublings != doublings_ || move == 0) {
        doublings_ = doublings;
        reference_us_ = std::max(MaxLoad(), 1e-9);
        energy_ = Energy();
      }
      Try(rng, kHot * std::pow(kCold / kHot, part));
    }
    if (found_) {
      LoadCandidate candidate = scorer_.Scored(std::move(*found_), "search");
      if (candidate < best) best = std::move(candidate);
    }
    return move;
  }

 private:
  // More than any device can hold.
  static int64_t MostBytes(const SimGraph& sim) {
    int64_t bytes = 0;
    for (const auto* of_each : {&sim.param_bytes, &sim.output_bytes, &sim.temp_bytes, &sim.tensor_bytes})
      bytes = std::accumulate(of_each->begin(), of_each->end(), bytes);
    return bytes;
  }
  bool Fits() { return always_fits_ || scorer_.BytesOver(state_.PlacementOf()) == 0; }
  double MaxLoad() const { return *std::ranges::max_element(state_.loads_us()); }
  // A smooth stand-in for the greatest load: the sum of loads to a high power, 16 first and 64 in the end.
  double Energy() const {
    double sum = 0;
    for (const double load_us : state_.loads_us()) {
      double power = load_us / reference_us_;
      for (int i = 0; i < doublings_; ++i) power *= power;
      sum += power;
    }
    return sum;
  }

  int32_t RandomSet(Rng& rng) const { return static_cast<int32_t>(rng.UniformInt(0, state_.num_sets() - 1)); }

  int32_t SetToMove(Rng& rng) const {
    int32_t set = RandomSet(rng);
    if (rng.Uniform() >= kFromBusiest) return set;
    const auto busiest =
        static_cast<DeviceIndex>(std::ranges::max_element(state_.loads_us()) - state_.loads_us().begin());
    for (int look = 0; look < kLooksForBusiest && state_.DeviceOf(set) != busiest; ++look) set = RandomSet(rng);
    return set;
  }

  DeviceIndex Target(Rng& rng, int32_t set) const {
    const std::span<const int32_t> neighbours = state_.Neighbours(set);
    if (!neighbours.empty() && rng.Uniform() < kToNeighbour) {
      return state_.DeviceOf(OneOf(rng, neighbours));
    }
    return static_cast<DeviceIndex>(rng.UniformInt(0, task_.sim.num_devices - 1));
  }

  // Moves the sets of a group that are not there; false: not all may go, or there is no room.
  bool MoveGroup(std::span<const int32_t> sets, DeviceIndex to) {
    for (const int32_t set : sets) {
      if (state_.DeviceOf(set) == to) continue;
      if (!state_.MayRun(set, to) ||
          state_.ParamBytes(to) + state_.ParamBytesOf(set) > task_.sim.memory_bytes[static_cast<size_t>(to)])
        return false;
      moved_.emplace_back(set, state_.DeviceOf(set));
      state_.Move(set, to);
    }
    return true;
  }

  void Try(Rng& rng, double heat) {
    const size_t level = rng.Uniform() < kFinestLevel ? 0 : rng.Index(levels_.size());
    const int32_t set = SetToMove(rng);
    const DeviceIndex from = state_.DeviceOf(set);
    const DeviceIndex to = Target(rng, set);
    if (to == from) return;
    moved_.clear();
    bool legal = MoveGroup(levels_[level].Row(group_of_set_[level][static_cast<size_t>(set)]), to);
    if (legal && rng.Uniform() < kSwap) {
      const int32_t other = RandomSet(rng);
      if (state_.DeviceOf(other) == to)
        legal = MoveGroup(levels_[level].Row(group_of_set_[level][static_cast<size_t>(other)]), from);
    }
    if (!legal) return Undo();
    const double energy = Energy();
    const double worse = std::log(energy / energy_) / static_cast<double>(1 << doublings_);
    if (worse > -heat * std::log(1 - rng.Uniform())) return Undo();
    const double load_us = MaxLoad();
    if (load_us < least_us_) {
      if (!Fits()) return Undo();  // Parameters, which MoveGroup counts, are not all that devices hold.
      least_us_ = load_us * kGain;
      found_ = state_.PlacementOf();
    }
    energy_ = energy;
  }

  void Undo() {
    for (auto move = moved_.rbegin(); move != moved_.rend(); ++move) state_.Move(move->first, move->second);
  }

  const PlacementTask& task_;
  const StopSignal stop_;
  LoadState state_;
  LoadScorer scorer_;
  const bool always_fits_;
  std::vector<Csr> levels_;                         // By level, then group: its sets.
  std::vector<std::vector<int32_t>> group_of_set_;  // By level: [S]
  double reference_us_ = 1;
  int doublings_ = 4;  // The power is 2 to that.
  double energy_ = 0;
  double least_us_ = 0;
  std::optional<Placement> found_;
  std::vector<std::pair<int32_t, DeviceIndex>> moved_;  // By the last try, with where the sets were.
};

class ThroughputSearch {
 public:
  ThroughputSearch(const PlacementTask& task, const MethodOptions& options)
      : task_(task),
        options_(options),
        limit_(options.budget, options.seconds, options.stop, options.begin),
        scorer_(task, options.order) {}

  MethodResult Run() {
    AddMethod("single", options_.stop);
    AddMethod("expert", limit_.stop());
    AddMethod("dp", StopAfterShare(kMostTimeShareOfDp));
    for (const char* name : {"scotch", "list"}) {
      if (limit_.Progress() < 1) AddMethod(name, StopAfterShare(kMostTimeShareOfStarts));
    }
    if (!best_ || best_->bytes_over > 0) {
      // The second places in about the time of a simulation.
      limit_.Progress() < 1 ? AddMethod("auto", limit_.stop()) : AddMethod("m-topo", options_.stop);
    }
    if (best_ && best_->bytes_over > 0 && limit_.Progress() < 1) MoveUntilItFits();
    if (best_) Report(*best_, limit_.evaluations());
    if (best_ && best_->bytes_over == 0 && task_.sim.num_devices > 1) Anneal();
    MethodResult result;
    result.evaluations = limit_.evaluations();
    if (!best_) return result;
    result.found_by = best_->found_by;
    result.placement = std::move(best_->placement);
    return result;
  }

 private:
  // Ends work after this share of the time that is left, if the search has a time.
  StopSignal StopAfterShare(double share) const {
    return limit_.stop().After(StopSignal::Clock::now(), share * (options_.seconds - limit_.seconds()));
  }

  void AddMethod(const char* name, const StopSignal& stop) {
    MethodOptions options{
        .budget = kBudgetToFit, .seed = options_.seed, .orders = false, .order = options_.order, .stop = stop};
    options.planner = options_.planner;
    if (std::string_view(name) == "dp") options.objective = Objective::kThroughput;
    try {
      MethodResult result = MakeMethod(name, options)->Place(task_);
      limit_.Count(result.evaluations);
      if (!result.placement) return;
      limit_.Count(1);
      LoadCandidate candidate = scorer_.Scored(std::move(*result.placement), name);
      if (!best_ || candidate < *best_) best_ = std::move(candidate);
    } catch (const Stopped&) {
      if (options_.stop.Asked() && !best_) throw;
    }
  }

  // Moves single sets while no more bytes are over the memory.
  void MoveUntilItFits() {
    const StopSignal stop = StopAfterShare(kTimeShareToFit);
    LoadState state(task_);
    state.Reset(best_->placement);
    Rng rng = Rng(options_.seed).Fork("fit");
    for (int move = 0; move < kMovesToFit && best_->bytes_over > 0 && limit_.Progress() < 1 && !stop.Now(); ++move) {
      const auto set = static_cast<int32_t>(rng.UniformInt(0, state.num_sets() - 1));
      const auto to = static_cast<DeviceIndex>(rng.UniformInt(0, task_.sim.num_devices - 1));
      const DeviceIndex from = state.DeviceOf(set);
      if (to == from || !state.MayRun(set, to)) continue;
      state.Move(set, to);
      limit_.Count(1);
      LoadCandidate candidate = scorer_.Scored(state.PlacementOf(), "search");
      if (candidate.bytes_over > best_->bytes_over) {
        state.Move(set, from);
      } else {
        best_ = std::move(candidate);
      }
    }
  }

  void Anneal() {
    const auto tensors = static_cast<int64_t>(task_.sim.tensor_bytes.size());
    if ((tensors + task_.sim.num_ops) * task_.sim.num_devices > kMostNumbers ||
        limit_.Progress() + limit_.Share(0, kStateUsPerOp * task_.sim.num_ops) >= 1)
      return;
    // With a budget one thread: results are not to depend on their number.
    const int threads = options_.budget > 0 ? 1 : options_.threads;
    ThreadTeam team(threads);
    std::vector<LoadCandidate> best(static_cast<size_t>(threads), *best_);
    std::vector<int64_t> moves(best.size());
    team.ForEach(best.size(), [&](size_t /*thread*/, size_t i) {
      LoadAnnealer annealer(task_, options_.order, limit_.stop());
      int64_t left = kMovesOfEvaluation * std::clamp<int64_t>(limit_.evaluations_left(), 0, kMostEvaluations);
      const Rng seeds = Rng(options_.seed).Fork("throughput", i);
      for (int round = 0; left > 0 && !limit_.stop().Now() && round < kMostAnnealings; ++round) {
        const int64_t whole = kFirstMoves << round;
        const uint64_t seed = seeds.Fork("round", static_cast<uint64_t>(round)).Next();
        const int64_t made = annealer.Round(seed, whole, std::min(whole, left), best[i]);
        moves[i] += made;
        left -= made;
        if (i == 0)
          Report(best[i], limit_.evaluations() + Evaluations(moves[i]));  // The thread of the caller, who is told.
      }
    });
    for (size_t i = 0; i < best.size(); ++i) {
      limit_.Count(Evaluations(moves[i]));
      if (best[i] < *best_) best_ = std::move(best[i]);
    }
  }

  static int64_t Evaluations(int64_t moves) { return (moves + kMovesOfEvaluation - 1) / kMovesOfEvaluation; }

  void Report(const LoadCandidate& best, int64_t evaluations) const {
    if (!options_.progress) return;
    options_.progress({.seconds = limit_.seconds(),
                       .evaluations = evaluations,
                       .best_us = best.load_us,
                       .fits = best.bytes_over == 0,
                       .found_by = best.found_by});
  }

  const PlacementTask& task_;
  const MethodOptions& options_;
  SearchLimit limit_;
  LoadScorer scorer_;
  std::optional<LoadCandidate> best_;
};

}  // namespace

MethodResult SearchForThroughput(const PlacementTask& task, const MethodOptions& options) {
  return ThroughputSearch(task, options).Run();
}

}  // namespace emplace
