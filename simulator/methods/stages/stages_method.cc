#include "simulator/methods/stages/stages_method.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/max_load.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/stages/device_steps.h"
#include "simulator/methods/stages/divide.h"
#include "simulator/task/equal_devices.h"

namespace emplace {
namespace {

// What may be spent on orders of unlike devices: steps times blocks squared, about a tenth of a second.
constexpr size_t kMostWork = 30'000'000;
// What each part may simulate: ops, about a fifth of a second.
constexpr int64_t kMostSimulatedOps = 1'000'000;
// Of dividing, and learning what stages need: until a division fits; where none does, for the one that lacks least; and
// for the best ones into other numbers of stages.
constexpr int kMostRounds = 60;
constexpr int kRoundsWithoutFit = 12;
constexpr int kRoundsForEachNumber = 2;
// What it takes to find the best order and to simulate with it, in simulations.
constexpr int64_t kOrderSimulations = 20;
constexpr double kValueMargin = 1e-9;  // Values that differ by less of themselves are equal but for rounding.

// A division as the simulator sees it.
struct Tried {
  Division division;
  Placement placement;
  DeviceOrders orders;
  std::string discipline;
  std::vector<int64_t> peak_bytes;  // [D]
  int64_t bytes_over = 0;
  double makespan_us = 0;
  double us = 0;  // What the objective minimizes.
};

// Fewer bytes over the memory, or else faster by more than rounding.
bool IsBetter(const Tried& tried, const Tried& than) {
  if (tried.bytes_over != than.bytes_over) return tried.bytes_over < than.bytes_over;
  return tried.us < than.us * (1 - kValueMargin);
}

class StageSearch {
 public:
  StageSearch(const BlockRow& row, const StagesRequest& request, const MethodOptions& options)
      : row_(row), request_(request), options_(options), graph_(row.task()), scorer_(row.task()), bytes_(row) {}

  std::optional<Tried> Run() {
    const bool by_time = options_.objective == Objective::kLatency;
    LearnWhatFits(by_time ? DivideBy::kLatency : DivideBy::kThroughput, kMostRounds);
    if (!Fits()) {
      LearnWhatFits(DivideBy::kBytesOver, kRoundsWithoutFit);
      Move();
    }
    if (Fits() && by_time) TryEachNumber();
    // With micro-batches, what a stage needs depends on the others, so that something better may fit.
    if (Fits() && (by_time || row_.microbatches() > 1)) Move();
    if (best_ && request_.may_order) GiveOrder(*best_);
    return std::move(best_);
  }
  int64_t evaluations() const { return evaluations_; }

 private:
  bool Fits() const { return best_ && best_->bytes_over == 0; }
  int32_t most_stages() const {
    return request_.stages > 0 ? request_.stages : std::min(row_.task().sim.num_devices, row_.num_blocks());
  }

  // The orders of devices that are allowed. counted: with the number of stages.
  std::vector<DeviceSteps> Orders(bool counted) const {
    const SimGraph& sim = row_.task().sim;
    std::vector<DeviceSteps> orders;
    orders.push_back(counted || request_.stages > 0
                         ? InGivenOrder(sim.num_devices, std::max(1, request_.stages), most_stages())
                         : InGivenOrder(sim.num_devices));
    if (!request_.any_order) return orders;
    const size_t squared = static_cast<size_t>(row_.num_blocks()) * static_cast<size_t>(row_.num_blocks());
    auto any = InAnyOrder(EqualDevices(sim), most_stages(), kMostWork / squared);
    if (any) orders.push_back(std::move(*any));
    return orders;
  }

  // Divides, simulates the best division, and learns what its stages need, until it fits or nothing new is found.
  void LearnWhatFits(DivideBy by, int most_rounds) {
    for (const DeviceSteps& steps : Orders(/*counted=*/false)) {
      AllowMore();
      for (int round = 0; round < most_rounds; ++round) {
        const std::vector<Division> wanted = Wanted(steps, by);
        if (wanted.empty() || !TeachesMore(wanted.front())) break;
      }
    }
  }

  // The sums by which divisions are found are no more than an estimate of a step's time. With micro-batches, more and
  // more even stages may be faster.
  void TryEachNumber() {
    std::vector<DivideBy> ways = {DivideBy::kLatency};
    if (row_.microbatches() > 1) ways.push_back(DivideBy::kThroughput);
    AllowMore();
    for (const DeviceSteps& steps : Orders(/*counted=*/true)) {
      bool learned = true;
      for (int round = 0; learned && round < kRoundsForEachNumber; ++round) {
        learned = false;
        for (const DivideBy by : ways) {
          for (const Division& division : Wanted(steps, by)) learned = TeachesMore(division) || learned;
        }
      }
    }
  }

  // The best division into each number of stages, best first.
  std::vector<Division> Wanted(const DeviceSteps& steps, DivideBy by) const {
    std::vector<Divided> found;
    const StopSignal stop = best_ ? stop_ : StopSignal();  // The first division is made in any case.
    for (std::optional<Divided>& divided : Divide(row_, steps, bytes_, by, stop)) {
      const auto wanted = static_cast<size_t>(request_.stages);
      if (divided && (wanted == 0 || divided->division.size() == wanted)) found.push_back(std::move(*divided));
    }
    std::ranges::stable_sort(found, {}, [](const Divided& one) { return std::pair(one.value, one.next); });
    std::vector<Division> divisions;
    for (Divided& divided : found) divisions.push_back(std::move(divided.division));
    return divisions;
  }

  // Whether the division is a new one that does not fit the memory.
  bool TeachesMore(const Division& division) {
    if (!MayTry() || !seen_.insert(division).second) return false;
    const Tried tried = Try(division);
    if (tried.bytes_over > 0) {
      for (const Stage& stage : division) bytes_.Learn(stage, tried.peak_bytes[static_cast<size_t>(stage.device)]);
    }
    Keep(tried);
    return tried.bytes_over > 0;
  }

  // Changes the best division a little while that makes it better.
  void Move() {
    if (!best_) return;
    AllowMore();
    while (TakesOneOf(WithMovedBlock(best_->division)) || TakesOneOf(WithOtherDevice(best_->division))) {
    }
  }

  bool TakesOneOf(const std::vector<Division>& divisions) {
    for (const Division& division : divisions) {
      if (MayTry() && seen_.insert(division).second && Keep(Try(division))) return true;
    }
    return false;
  }

  bool MayRun(const Division& division) const {
    return std::ranges::all_of(division, [&](const Stage& stage) { return std::isfinite(row_.WorkUs(stage)); });
  }

  // With one block moved over a border; a stage that gets empty is left out, unless so many were asked for.
  std::vector<Division> WithMovedBlock(const Division& division) const {
    std::vector<Division> others;
    for (size_t border = 1; border < division.size(); ++border) {
      for (const int32_t by : {-1, 1}) {
        Division moved = division;
        moved[border - 1].end += by;
        moved[border].begin += by;
        std::erase_if(moved, [](const Stage& stage) { return stage.begin == stage.end; });
        const bool legal = moved.size() == division.size() || request_.stages == 0;
        if (legal && MayRun(moved)) others.push_back(std::move(moved));
      }
    }
    return others;
  }

  // With another device for one stage. In any order of devices it may be another stage's, which then gets the first
  // one's.
  std::vector<Division> WithOtherDevice(const Division& division) const {
    std::vector<Division> others;
    for (size_t s = 0; s < division.size(); ++s) {
      for (DeviceIndex device = 0; device < row_.task().sim.num_devices; ++device) {
        Division other = division;
        for (Stage& stage : other) {
          if (stage.device == device) stage.device = division[s].device;
        }
        other[s].device = device;
        const bool legal = request_.any_order || std::ranges::is_sorted(other, {}, &Stage::device);
        if (other != division && legal && MayRun(other)) others.push_back(std::move(other));
      }
    }
    return others;
  }

  Tried Try(const Division& division) {
    Tried tried;
    tried.division = division;
    tried.placement = row_.PlacementOf(division);
    if (!request_.order.empty()) {
      SetOrders(tried, OrderNamed(request_.order, graph_, tried.placement));
    } else {
      Score(tried, scorer_);
      if (request_.may_order && row_.microbatches() > 1) GiveOrder(tried);
    }
    return tried;
  }

  void GiveOrder(Tried& tried) {
    simulated_ops_ += kOrderSimulations * static_cast<int64_t>(tried.placement.size());
    Tried ordered = tried;
    SetOrders(ordered, BestOrder(graph_, tried.placement));
    const auto rank = [](const Tried& one) { return std::pair(one.bytes_over, one.makespan_us); };
    if (rank(ordered) < rank(tried)) tried = std::move(ordered);
  }

  void SetOrders(Tried& tried, ChosenOrder chosen) {
    tried.orders = std::move(chosen.orders);
    tried.discipline = std::move(chosen.discipline);
    PlacementScorer scorer(row_.task(), tried.orders);
    Score(tried, scorer);
  }

  void Score(Tried& tried, PlacementScorer& scorer) {
    const SearchScore score = scorer.Score(tried.placement);
    tried.bytes_over = score.bytes_over;
    tried.makespan_us = score.makespan_us;
    tried.us =
        options_.objective == Objective::kThroughput ? MaxLoadUs(row_.task().sim, tried.placement) : score.makespan_us;
    tried.peak_bytes.assign(scorer.peak_bytes().begin(), scorer.peak_bytes().end());
    ++evaluations_;
    simulated_ops_ += static_cast<int64_t>(tried.placement.size());
  }

  bool Keep(const Tried& tried) {
    if (best_ && !IsBetter(tried, *best_)) return false;
    best_ = tried;
    return true;
  }

  void AllowMore() { simulated_ops_ = 0; }
  // The first division is tried in any case.
  bool MayTry() const { return !best_ || (!stop_.Now() && simulated_ops_ < kMostSimulatedOps); }

  const BlockRow& row_;
  const StagesRequest& request_;
  const MethodOptions& options_;
  const ScheduleGraph graph_;
  const StopSignal stop_ = options_.stop.After(std::chrono::steady_clock::now(), options_.seconds);
  PlacementScorer scorer_;
  StageBytes bytes_;
  std::set<Division> seen_;
  std::optional<Tried> best_;
  int64_t evaluations_ = 0;
  int64_t simulated_ops_ = 0;  // Since AllowMore.
};

}  // namespace

MethodResult StagesMethod::Place(const PlacementTask& task) {
  const BlockRow row(task, request_.block_of_op, request_.num_blocks);
  StageSearch search(row, request_, options_);
  std::optional<Tried> best = search.Run();
  division_.clear();
  MethodResult result;
  result.evaluations = search.evaluations();
  if (!best) return result;
  division_ = std::move(best->division);
  result.placement = std::move(best->placement);
  result.orders = std::move(best->orders);
  result.discipline = std::move(best->discipline);
  return result;
}

}  // namespace emplace
