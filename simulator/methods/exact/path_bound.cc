#include "simulator/methods/exact/path_bound.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simulator/engine/graph_paths.h"

namespace emplace {
namespace {

// Steps go between ops where so much of all work and of the path has been done: at each step of this grid, the first op
// on it and the last one before.
constexpr double kGrid = 256;

// What follows and precedes the ops of a path. A place is a number from 1 on of an op on it.
class PathOrder {
 public:
  PathOrder(const SimGraph& graph, std::span<const OpIndex> path)
      : places_(static_cast<int32_t>(path.size())),
        last_before_(static_cast<size_t>(graph.num_ops), 0),
        first_after_(last_before_.size(), places_ + 1) {
    std::vector<int32_t> place_of(last_before_.size(), 0);
    for (int32_t k = 0; k < places_; ++k) place_of[static_cast<size_t>(path[static_cast<size_t>(k)])] = k + 1;
    const std::vector<OpIndex> order = TopologicalOrder(graph);
    for (const OpIndex op : order) {
      const int32_t last = std::max(LastBefore(op), place_of[static_cast<size_t>(op)]);
      for (const OpIndex reader : graph.ReadersOf(op)) {
        int32_t& of_reader = last_before_[static_cast<size_t>(reader)];
        of_reader = std::max(of_reader, last);
      }
    }
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      int32_t& first = first_after_[static_cast<size_t>(*at)];
      for (const OpIndex reader : graph.ReadersOf(*at)) {
        const int32_t place = place_of[static_cast<size_t>(reader)];
        first = std::min(first, place > 0 ? place : FirstAfter(reader));
      }
    }
  }

  int32_t places() const { return places_; }
  // The last place before the op; 0: none. And the first one after it; places() + 1: none.
  int32_t LastBefore(OpIndex op) const { return last_before_[static_cast<size_t>(op)]; }
  int32_t FirstAfter(OpIndex op) const { return first_after_[static_cast<size_t>(op)]; }

 private:
  int32_t places_;
  std::vector<int32_t> last_before_;  // [n]
  std::vector<int32_t> first_after_;  // [n]
};

// The places between which steps go, ascending.
std::vector<int32_t> StopsOf(const PathOrder& order, std::span<const OpIndex> path, std::span<const double> head_us,
                             std::span<const double> shares_us) {
  const auto places = static_cast<size_t>(order.places());
  // Of ops that precede each place, and of ops that do not follow it.
  std::vector<double> precede_us(places + 2, 0);
  std::vector<double> not_follow_us(places + 2, 0);
  for (size_t o = 0; o < shares_us.size(); ++o) {
    precede_us[static_cast<size_t>(order.FirstAfter(static_cast<OpIndex>(o)))] += shares_us[o];
    not_follow_us[static_cast<size_t>(order.LastBefore(static_cast<OpIndex>(o))) + 1] += shares_us[o];
  }
  std::partial_sum(precede_us.begin(), precede_us.end(), precede_us.begin());
  std::partial_sum(not_follow_us.begin(), not_follow_us.end(), not_follow_us.begin());
  const double work_us = std::max(precede_us.back(), 1e-300);
  const double path_us = std::max(head_us[static_cast<size_t>(path.back())], 1e-300);
  std::vector<int32_t> stops;
  double cell_before = -1;
  for (size_t place = 1; place <= places; ++place) {
    const double done =
        (precede_us[place] + not_follow_us[place]) / work_us + head_us[static_cast<size_t>(path[place - 1])] / path_us;
    const double cell = std::floor(done * kGrid / 3);
    if (cell != cell_before) {
      if (place > 1 && stops.back() != static_cast<int32_t>(place) - 1)
        stops.push_back(static_cast<int32_t>(place) - 1);
      stops.push_back(static_cast<int32_t>(place));
    }
    cell_before = cell;
  }
  if (stops.back() != order.places()) stops.push_back(order.places());
  return stops;
}

// Shares of the ops that follow one stop and precede another.
class WorkBetween {
 public:
  WorkBetween(const PathOrder& order, const std::vector<int32_t>& stops, std::span<const double> shares_us)
      : ends_(stops.size() + 2), us_(ends_ * ends_, 0) {
    for (size_t o = 0; o < shares_us.size(); ++o) {
      const auto last = std::ranges::upper_bound(stops, order.LastBefore(static_cast<OpIndex>(o))) - stops.begin();
      const auto first = std::ranges::lower_bound(stops, order.FirstAfter(static_cast<OpIndex>(o))) - stops.begin();
      At(static_cast<size_t>(last), static_cast<size_t>(first) + 1) += shares_us[o];
    }
    for (size_t from = ends_; from-- > 0;) {
      for (size_t to = 0; to < ends_; ++to) {
        if (from + 1 < ends_) At(from, to) += At(from + 1, to);
        if (to > 0) At(from, to) += At(from, to - 1);
        if (from + 1 < ends_ && to > 0) At(from, to) -= At(from + 1, to - 1);
      }
    }
  }

  // Stops count from 1 on; 0 is the begin of the run, and the last number its end.
  double Us(size_t from, size_t to) const { return us_[from * ends_ + to]; }

 private:
  double& At(size_t from, size_t to) { return us_[from * ends_ + to]; }

  size_t ends_;
  std::vector<double> us_;  // [ends_ * ends_]
};

}  // namespace

double PathBoundUs(const SimGraph& graph, std::span<const OpIndex> path, std::span<const double> cost_us,
                   std::span<const double> head_us, std::span<const double> tail_us,
                   std::span<const double> shares_us) {
  const PathOrder order(graph, path);
  const std::vector<int32_t> stops = StopsOf(order, path, head_us, shares_us);
  const WorkBetween work(order, stops, shares_us);
  const auto op_at = [&](size_t stop) { return static_cast<size_t>(path[static_cast<size_t>(stops[stop - 1]) - 1]); };
  const size_t end = stops.size() + 1;
  std::vector<double> end_us = {0};  // Of the begin, and of each stop's op.
  for (size_t to = 1; to < end; ++to) {
    const size_t op = op_at(to);
    double start_us = head_us[op];
    for (size_t from = 0; from < to; ++from) {
      const double path_us = from == 0 ? 0 : head_us[op] - head_us[op_at(from)] - cost_us[op_at(from)];
      // The overhead after the last op of each device may last longer.
      start_us = std::max(start_us, end_us[from] + std::max(work.Us(from, to) - graph.op_overhead_us, path_us));
    }
    end_us.push_back(start_us + cost_us[op]);
  }
  double bound_us = work.Us(0, end);
  for (size_t from = 1; from < end; ++from)
    bound_us = std::max(bound_us, end_us[from] + std::max(work.Us(from, end), tail_us[op_at(from)]));
  return bound_us;
}

}  // namespace emplace
