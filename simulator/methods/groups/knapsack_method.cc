#include "simulator/methods/groups/knapsack_method.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "simulator/engine/graph_paths.h"
#include "simulator/methods/placement_scorer.h"

namespace emplace {
namespace {

constexpr double kCannotRun = std::numeric_limits<double>::infinity();
// With more devices not all orders are tried, and not each device as the one for the rest.
constexpr size_t kMostInAnyOrder = 4;
// Until a placement fits the memory.
constexpr int kMostFills = 6;

// The ops that have to be together, in the order in which they run.
struct OpSet {
  std::vector<OpIndex> ops;
  std::vector<double> us;  // [D] kCannotRun: some op may not run there
  double bytes = 0;        // Held for the whole step.
};

std::vector<OpSet> SetsOf(const PlacementTask& task) {
  const SimGraph& sim = task.sim;
  const std::vector<GroupIndex>& set_of_op = task.levels->Finest();
  const auto devices = static_cast<size_t>(sim.num_devices);
  std::vector<OpSet> sets(static_cast<size_t>(CountOf(set_of_op)));
  for (OpIndex o = 0; o < sim.num_ops; ++o) {
    OpSet& set = sets[static_cast<size_t>(set_of_op[static_cast<size_t>(o)])];
    set.ops.push_back(o);
    set.us.resize(devices, 0);
    for (size_t d = 0; d < devices; ++d) {
      const double us = sim.BusyUs(o, static_cast<DeviceIndex>(d));
      set.us[d] += MayRunAt(us) ? us : kCannotRun;
    }
    set.bytes += static_cast<double>(sim.param_bytes[static_cast<size_t>(o)]);
  }
  std::erase_if(sets, [](const OpSet& set) { return set.ops.empty(); });
  return sets;
}

class Filler {
 public:
  Filler(const PlacementTask& task, const StopSignal& stop)
      : task_(task), stop_(stop), sets_(SetsOf(task)), scorer_(task) {
    SortByStart();
  }

  // Tries each device for the rest, or in large machines the likeliest, with the others in several orders.
  MethodResult Run() && {
    try {
      TryAll();
    } catch (const Stopped&) {  // The best so far is kept.
      if (!best_) throw;
    }
    MethodResult result = {.placement = std::move(best_), .evaluations = evaluations_};
    if (result.placement) result.score = score_;
    return result;
  }

 private:
  void TryAll() {
    const std::vector<DeviceIndex> by_speed = BySpeed();
    const std::vector<int64_t>& memory_bytes = task_.sim.memory_bytes;
    const bool any_order = by_speed.size() <= kMostInAnyOrder;
    const auto largest = static_cast<DeviceIndex>(std::ranges::max_element(memory_bytes) - memory_bytes.begin());
    for (const DeviceIndex rest : by_speed) {
      if (!any_order && rest != by_speed.back() && rest != largest) continue;
      std::vector<DeviceIndex> order = by_speed;
      std::erase(order, rest);
      if (any_order) {
        std::ranges::sort(order);
        do {
          Try(rest, order);
        } while (std::ranges::next_permutation(order).found);
      } else {
        Try(rest, order);
        std::ranges::reverse(order);
        Try(rest, order);
      }
    }
  }

  // Keeps the best placement with this device for the rest and the others filled in this order.
  void Try(DeviceIndex rest, const std::vector<DeviceIndex>& order) {
    stop_.Poll();
    const SimGraph& sim = task_.sim;
    std::vector<double> room(sim.memory_bytes.begin(), sim.memory_bytes.end());
    for (int tries = 0; tries < kMostFills; ++tries) {
      if (tries + 1 == kMostFills) std::ranges::fill(room, 0.0);  // All that the rest's device may run is there.
      const std::optional<Placement> placement = Fill(rest, order, room);
      if (!placement) return;
      const SearchScore score = scorer_.Score(*placement);
      ++evaluations_;
      if (!best_ || score < score_) {
        best_ = placement;
        score_ = score;
      }
      if (score.bytes_over == 0) return;
      // A device over its memory gets fewer bytes than it held, so that some op has to leave it.
      std::vector<double> held(room.size(), 0);  // [D]
      for (OpIndex o = 0; o < sim.num_ops; ++o) {
        const auto d = static_cast<size_t>((*placement)[static_cast<size_t>(o)]);
        held[d] += static_cast<double>(sim.param_bytes[static_cast<size_t>(o)]);
      }
      for (size_t d = 0; d < room.size(); ++d) {
        const auto over = static_cast<double>(scorer_.peak_bytes()[d] - sim.memory_bytes[d]);
        if (over > 0) room[d] = held[d] - over;
      }
    }
  }

  // Indices of the devices, the fastest first: by the time of all sets that every device may run.
  std::vector<DeviceIndex> BySpeed() const {
    const auto devices = static_cast<size_t>(task_.sim.num_devices);
    std::vector<double> us(devices, 0);
    for (const OpSet& set : sets_) {
      if (std::ranges::find(set.us, kCannotRun) != set.us.end()) continue;
      for (size_t d = 0; d < devices; ++d) us[d] += set.us[d];
    }
    std::vector<DeviceIndex> order(devices);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](DeviceIndex d) { return us[static_cast<size_t>(d)]; });
    return order;
  }

  void SortByStart() {
    const std::vector<int32_t> depth = OpDepths(task_.sim);
    std::ranges::stable_sort(sets_, {}, [&](const OpSet& set) {
      int32_t first = std::numeric_limits<int32_t>::max();
      for (const OpIndex o : set.ops) first = std::min(first, depth[static_cast<size_t>(o)]);
      return first;
    });
  }

  // Which sets go to the devices in `order` and not to the rest.
  std::vector<bool> Chosen(DeviceIndex rest, const std::vector<DeviceIndex>& order,
                           const std::vector<double>& room) const {
    double left = 0;
    for (const DeviceIndex d : order) left += std::max(0.0, room[static_cast<size_t>(d)]);
    std::vector<double> saved(sets_.size());  // For each byte.
    std::vector<size_t> by_saved;
    for (size_t s = 0; s < sets_.size(); ++s) {
      double fastest = kCannotRun;
      for (const DeviceIndex d : order) fastest = std::min(fastest, sets_[s].us[static_cast<size_t>(d)]);
      const double there = sets_[s].us[static_cast<size_t>(rest)];
      if (fastest == kCannotRun || fastest > there) continue;
      saved[s] = there == kCannotRun ? kCannotRun : (there - fastest) / std::max(sets_[s].bytes, 1.0);
      by_saved.push_back(s);
    }
    std::ranges::stable_sort(by_saved, std::greater<>(), [&](size_t s) { return saved[s]; });
    std::vector<bool> chosen(sets_.size(), false);
    for (const size_t s : by_saved) {
      if (sets_[s].bytes > left) continue;
      chosen[s] = true;
      left -= sets_[s].bytes;
    }
    return chosen;
  }

  std::optional<Placement> Fill(DeviceIndex rest, const std::vector<DeviceIndex>& order,
                                std::vector<double> room) const {
    const std::vector<bool> chosen = Chosen(rest, order, room);
    Placement placement(static_cast<size_t>(task_.sim.num_ops));
    size_t at = 0;
    for (size_t s = 0; s < sets_.size(); ++s) {
      const OpSet& set = sets_[s];
      const auto takes = [&](size_t i) {
        const auto d = static_cast<size_t>(order[i]);
        return set.us[d] < kCannotRun && set.bytes <= room[d];
      };
      DeviceIndex device = rest;
      if (chosen[s]) {
        while (at + 1 < order.size() && !takes(at)) ++at;
        size_t i = at;
        for (size_t earlier = 0; !takes(i) && earlier < order.size(); ++earlier) i = earlier;
        if (takes(i)) device = order[i];
      }
      if (set.us[static_cast<size_t>(device)] == kCannotRun) return std::nullopt;
      room[static_cast<size_t>(device)] -= set.bytes;
      for (const OpIndex o : set.ops) placement[static_cast<size_t>(o)] = device;
    }
    return placement;
  }

  const PlacementTask& task_;
  const StopSignal& stop_;
  std::vector<OpSet> sets_;
  PlacementScorer scorer_;
  std::optional<Placement> best_;
  SearchScore score_;
  int64_t evaluations_ = 0;
};

}  // namespace

MethodResult KnapsackMethod::Place(const PlacementTask& task) { return Filler(task, stop_).Run(); }

}  // namespace emplace
