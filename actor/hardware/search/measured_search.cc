#include "actor/hardware/search/measured_search.h"

#include <algorithm>
#include <utility>

#include "common/error.h"
#include "common/quantile.h"
#include "common/strings.h"

namespace emplace {
namespace {

// Constructors whose placements wait in the pool from the begin on, for graphs on which searches find the same again.
constexpr const char* kConstructors[] = {"list", "m-etf", "heft"};
// How often a search is repeated, each time with costs that vary more, where it finds what is known.
constexpr int kMostTries = 3;
constexpr double kWidestSpread = 0.3;
// The share of the measurements that are made at the end, the least number of them, and of placements that get one.
constexpr int32_t kShareAtEnd = 5;
constexpr int32_t kFewestFinalists = 2;
constexpr int32_t kMostFinalists = 5;

struct FinalRounds {
  int32_t finalists = 0;
  int32_t rounds = 0;
  int32_t measurements() const { return finalists * rounds; }
};

// Of all measurements, a fifth: two or more turns of few placements where there are enough.
FinalRounds PlanFinalRounds(int32_t measurements) {
  const int32_t kept = measurements / kShareAtEnd;
  if (kept < kFewestFinalists) return {};
  const int32_t finalists = std::clamp(kept / 2, kFewestFinalists, kMostFinalists);
  return {.finalists = finalists, .rounds = kept / finalists};
}

class MeasuredSearch {
 public:
  MeasuredSearch(const OpGraph& graph, const Cluster& machine, DeviceIndex reference,
                 const MeasuredSearchOptions& options, const Placer& placer, const StepMeter& meter)
      : given_{.graph = graph, .machine = machine},
        options_(options),
        placer_(placer),
        meter_(meter),
        reference_(static_cast<size_t>(graph.num_ops()), reference),
        corrections_(given_.graph, given_.machine, reference),
        corrected_(given_),
        reference_fits_(Simulate(given_, {.placement = reference_, .orders = {}}).bytes_over == 0) {
    pool_.Forbid(reference_);
  }

  MeasuredSearchResult Run() {
    bool stopped = false;
    try {
      Explore();
      MeasureAgain();
    } catch (const Stopped&) {
      if (corrections_.empty()) throw;
      stopped = true;
    }
    if (corrections_.empty() && measurements_ == 0 && !reference_fits_) {
      throw RunFailed("the methods find no placement that fits the memory");
    }
    if (corrections_.empty() && measurements_ > 0) {
      throw RunFailed(StrCat("the step of each of ", measurements_, " placements has failed or hung"));
    }
    MeasuredSearchResult result = Best();
    result.stopped = stopped;
    return result;
  }

 private:
  void Explore() {
    const int32_t explored = options_.measurements - PlanFinalRounds(options_.measurements).measurements();
    while (measurements_ < explored) {
      std::optional<Candidate> candidate = NextCandidate(static_cast<double>(measurements_) / explored);
      if (!candidate) return;  // There is no other placement, or none that the methods find.
      Trial trial{.candidate = std::move(*candidate)};
      trial.simulated_us = Simulate(given_, trial.candidate.placement).us;
      trial.corrected_us = Simulate(corrected_, trial.candidate.placement).us;
      trial.ratio = Measure(trial);
      if (options_.progress) options_.progress(trial, measurements_);
      trials_.push_back(std::move(trial));
    }
  }

  // progress: of the search, 0 to 1. nullopt: what is found is known, and the pool is empty.
  std::optional<Candidate> NextCandidate(double progress) {
    const bool first = trials_.empty();
    const bool varied = trials_.size() % 2 == 1;
    double spread = varied ? options_.spread * (1 - 0.7 * progress) : 0;
    for (int tries = 0; tries < kMostTries; ++tries) {
      options_.stop.Poll();
      const bool is_new = AddCandidate("auto", spread);
      // A candidate of varied costs is not the fastest by the right ones: it is measured for what it teaches.
      if (is_new && (first || spread > 0)) return pool_.TakeNewest();
      if (is_new) break;
      spread = std::min(kWidestSpread, std::max(2 * spread, options_.spread));
    }
    if (first) {
      for (const char* const method : kConstructors) AddCandidate(method, 0);
    }
    return pool_.TakeFastest(corrected_);
  }

  // Returns whether the method finds a placement that is not known yet.
  bool AddCandidate(const std::string& method, double spread) {
    const uint64_t seed = options_.seed + requests_++;
    const Costs varied = spread > 0 ? VaryCosts(corrected_, spread, seed) : corrected_;
    const std::optional<OrderedPlacement> placement =
        placer_({.graph = varied.graph, .machine = varied.machine, .method = method, .seed = seed});
    if (!placement) return false;
    const char* const costs = spread > 0 ? "varied costs" : corrections_.empty() ? "given costs" : "corrected costs";
    return pool_.Add({.placement = WithAllOrders(varied, *placement), .origin = StrCat(method, ", ", costs)});
  }

  // The ratio to the reference; nullopt: the step fails. Corrects the costs.
  std::optional<double> Measure(const Trial& trial) {
    options_.stop.Poll();
    const std::optional<MeasuredStep> step = meter_(trial.candidate.placement);
    ++measurements_;
    if (!step) {
      ++failed_;
      return std::nullopt;
    }
    corrections_.Add(trial.candidate.placement.placement, *step);
    corrected_ = corrections_.Get();
    return step->ratio;
  }

  // The best few in turns. One whose step fails now is no longer among them.
  void MeasureAgain() {
    const FinalRounds plan = PlanFinalRounds(options_.measurements);
    std::vector<Trial*> finalists = ByRatio();
    if (finalists.size() < 2) return;  // There is nothing to choose.
    finalists.resize(std::min(finalists.size(), static_cast<size_t>(plan.finalists)));
    for (int32_t round = 0; round < plan.rounds; ++round) {
      for (Trial* const trial : finalists) {
        if (!trial->ratio) continue;
        if (const std::optional<double> ratio = Measure(*trial)) {
          trial->again.push_back(*ratio);
        } else {
          trial->ratio.reset();
        }
        if (options_.progress) options_.progress(*trial, measurements_);
      }
      ++rounds_at_end_;
    }
  }

  // Those whose step has not failed, the fastest first.
  std::vector<Trial*> ByRatio() {
    std::vector<Trial*> trials;
    for (Trial& trial : trials_) {
      if (trial.ratio) trials.push_back(&trial);
    }
    std::ranges::stable_sort(trials, {}, [](const Trial* trial) { return *trial->ratio; });
    return trials;
  }

  static bool LacksATurn(const Trial* trial) { return trial->again.empty(); }

  MeasuredSearchResult Best() {
    std::vector<Trial*> trials = ByRatio();
    // Where the best few had a turn each, these turns decide: the first measurement of the best was luck in part.
    const bool by_turns = rounds_at_end_ > 0 && !std::ranges::all_of(trials, LacksATurn);
    if (by_turns) std::erase_if(trials, LacksATurn);
    const auto ratio_of = [&](const Trial* trial) { return by_turns ? Median(trial->again) : *trial->ratio; };
    const auto best = std::ranges::min_element(trials, {}, ratio_of);
    MeasuredSearchResult result;
    result.placement = {.placement = reference_, .orders = {}};
    result.origin = "single";
    if (best != trials.end() && (ratio_of(*best) < 1 || !reference_fits_)) {
      result.placement = (*best)->candidate.placement;
      result.origin = (*best)->candidate.origin;
      result.ratio = ratio_of(*best);
    }
    result.reference_us = corrections_.empty() ? 0 : corrections_.ReferenceUs();
    result.simulated_us = Simulate(given_, result.placement).us;
    result.corrected_us = Simulate(corrected_, result.placement).us;
    result.measurements = measurements_;
    result.failed = failed_;
    result.trials = std::move(trials_);
    return result;
  }

  const Costs given_;
  const MeasuredSearchOptions& options_;
  const Placer& placer_;
  const StepMeter& meter_;
  const Placement reference_;
  CorrectedCosts corrections_;
  Costs corrected_;
  const bool reference_fits_;
  CandidatePool pool_;
  std::vector<Trial> trials_;
  uint64_t requests_ = 0;
  int32_t measurements_ = 0;
  int32_t failed_ = 0;
  int32_t rounds_at_end_ = 0;  // In which each of the best few was measured again.
};

}  // namespace

MeasuredSearchResult SearchByMeasuring(const OpGraph& graph, const Cluster& machine, DeviceIndex reference,
                                       const MeasuredSearchOptions& options, const Placer& placer,
                                       const StepMeter& meter) {
  EMPLACE_CHECK(options.measurements >= 1);
  return MeasuredSearch(graph, machine, reference, options, placer, meter).Run();
}

}  // namespace emplace
