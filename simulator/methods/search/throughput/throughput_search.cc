#include "simulator/methods/search/throughput/throughput_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/rng.h"
#include "common/threads/thread_team.h"
#include "simulator/methods/search/throughput/load_annealer.h"
#include "simulator/methods/search/throughput/load_state.h"
#include "simulator/methods/search_limit.h"

namespace emplace {
namespace {

// Moves of the first round; each further one has twice as many.
constexpr int64_t kFirstMoves = 20'000;
constexpr int kMostAnnealings = 40;
// About as many moves take as long as a simulation, and count as one evaluation.
constexpr int64_t kMovesOfEvaluation = 200;
constexpr int64_t kMostEvaluations = std::numeric_limits<int64_t>::max() / kMovesOfEvaluation;
// `dp` may take this share of the time, the others that place to begin with this one, and the state of a search so many
// numbers.
constexpr double kMostTimeShareOfDp = 0.5;
constexpr double kMostTimeShareOfStarts = 0.2;
constexpr int64_t kMostNumbers = 100'000'000;
// About the time to make that state, for each op.
constexpr double kStateUsPerOp = 4;
// Of `auto` for the latency, which also looks for what fits.
constexpr int64_t kBudgetToFit = 300;
// After that, simulations of single moves, and the share of the time, to find something that fits.
constexpr int kMovesToFit = 1000;
constexpr double kTimeShareToFit = 0.2;

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
