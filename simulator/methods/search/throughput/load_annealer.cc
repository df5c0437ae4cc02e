#include "simulator/methods/search/throughput/load_annealer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/sort_unique.h"
#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/max_load.h"

namespace emplace {
namespace {

constexpr int64_t kMovesBetweenLooks = 64;
// What a move may add to the load, as a share of it, at the begin and at the end of a round.
constexpr double kHot = 0.2;
constexpr double kCold = 2e-5;
constexpr double kToNeighbour = 0.7;
constexpr double kFromBusiest = 0.5;
constexpr double kSwap = 0.2;
constexpr double kFinestLevel = 0.6;
constexpr int kLooksForBusiest = 8;
constexpr double kGain = 1 - 1e-9;  // Less is rounding.

// More than any device can hold.
int64_t MostBytes(const SimGraph& sim) {
  int64_t bytes = 0;
  for (const auto* of_each : {&sim.param_bytes, &sim.output_bytes, &sim.temp_bytes, &sim.tensor_bytes})
    bytes = std::accumulate(of_each->begin(), of_each->end(), bytes);
  return bytes;
}

}  // namespace

bool LoadCandidate::operator<(const LoadCandidate& other) const {
  if (bytes_over != other.bytes_over) return bytes_over < other.bytes_over;
  return load_us < kGain * other.load_us;
}

LoadScorer::LoadScorer(const PlacementTask& task, std::string order)
    : task_(task), order_(std::move(order)), scorer_(task) {
  if (!order_.empty()) graph_.emplace(task);
}

int64_t LoadScorer::BytesOver(std::span<const DeviceIndex> placement) {
  return (graph_ ? OrderNamed(order_, *graph_, placement).score : scorer_.Score(placement)).bytes_over;
}

LoadCandidate LoadScorer::Scored(Placement placement, std::string found_by) {
  const int64_t bytes_over = BytesOver(placement);
  const double load_us = MaxLoadUs(task_.sim, placement);
  return {std::move(placement), bytes_over, load_us, std::move(found_by)};
}

LoadAnnealer::LoadAnnealer(const PlacementTask& task, const std::string& order, const StopSignal& stop)
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

int64_t LoadAnnealer::Round(uint64_t seed, int64_t moves, int64_t most, LoadCandidate& best) {
  Rng rng(seed);
  state_.Reset(best.placement);
  least_us_ = best.load_us * kGain;
  found_.reset();
  int64_t move = 0;
  for (; move < most; ++move) {
    // A simulation can take longer than all other moves between two looks.
    if ((move % kMovesBetweenLooks == 0 || std::exchange(simulated_, false)) && stop_.Now()) break;
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

bool LoadAnnealer::Fits() {
  if (always_fits_) return true;
  simulated_ = true;
  return scorer_.BytesOver(state_.PlacementOf()) == 0;
}

double LoadAnnealer::MaxLoad() const { return *std::ranges::max_element(state_.loads_us()); }

double LoadAnnealer::Energy() const {
  double sum = 0;
  for (const double load_us : state_.loads_us()) {
    double power = load_us / reference_us_;
    for (int i = 0; i < doublings_; ++i) power *= power;
    sum += power;
  }
  return sum;
}

int32_t LoadAnnealer::RandomSet(Rng& rng) const {
  return static_cast<int32_t>(rng.UniformInt(0, state_.num_sets() - 1));
}

int32_t LoadAnnealer::SetToMove(Rng& rng) const {
  int32_t set = RandomSet(rng);
  if (rng.Uniform() >= kFromBusiest) return set;
  const auto busiest =
      static_cast<DeviceIndex>(std::ranges::max_element(state_.loads_us()) - state_.loads_us().begin());
  for (int look = 0; look < kLooksForBusiest && state_.DeviceOf(set) != busiest; ++look) set = RandomSet(rng);
  return set;
}

DeviceIndex LoadAnnealer::Target(Rng& rng, int32_t set) const {
  const std::span<const int32_t> neighbours = state_.Neighbours(set);
  if (!neighbours.empty() && rng.Uniform() < kToNeighbour) {
    return state_.DeviceOf(OneOf(rng, neighbours));
  }
  return static_cast<DeviceIndex>(rng.UniformInt(0, task_.sim.num_devices - 1));
}

bool LoadAnnealer::MoveGroup(std::span<const int32_t> sets, DeviceIndex to) {
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

void LoadAnnealer::Try(Rng& rng, double heat) {
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

void LoadAnnealer::Undo() {
  for (auto move = moved_.rbegin(); move != moved_.rend(); ++move) state_.Move(move->first, move->second);
}

}  // namespace emplace
