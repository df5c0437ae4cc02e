#include "simulator/methods/lists/units/list_units.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <queue>
#include <utility>

#include "common/disjoint_sets.h"
#include "common/sort_unique.h"
#include "simulator/engine/mean_link.h"
#include "simulator/graph/neighbour_lists.h"
#include "simulator/graph/op_units.h"
#include "simulator/graph/unit_order.h"

namespace emplace {
namespace {

// A unit of more producers hardly ever gets to have just one that reads anything.
constexpr size_t kFewProducers = 8;

class UnitJoiner {
 public:
  UnitJoiner(const PlacementTask& task, const UnitLimits& limits, const StopSignal& stop)
      : task_(task),
        limits_(limits),
        stop_(stop),
        unit_of_op_(task.levels->Finest()),
        units_(1 + static_cast<size_t>(*std::ranges::max_element(unit_of_op_))),
        joined_(static_cast<int32_t>(units_.size())) {
    MakeUnits();
    MakeEdges();
  }

  std::vector<GroupIndex> Run() {
    OfferAll();
    while (!queue_.empty()) {
      stop_.Poll();
      const Candidate best = queue_.top();
      queue_.pop();
      // Either may have been joined since, or have grown.
      if (!Alive(best.from) || !Alive(best.to)) continue;
      const double ratio = RatioOf(best.from, best.to);
      if (ratio < best.ratio) {
        Offer(best.from, best.to);
      } else if (ratio == best.ratio && MayJoin(best.from, best.to)) {
        Join(best.from, best.to);
      }
    }
    return Numbered();
  }

 private:
  struct Edge {
    int32_t unit;
    double send_us;  // Of all tensors that it reads.
  };
  // From a unit of lower number to one of a higher.
  struct Send {
    int32_t from;
    Edge to;
  };
  struct Unit {
    std::vector<Edge> readers;  // Ascending, no repeats.
    OpUnit sum;
    int32_t ops = 0;  // Of the largest set in it that has to be together.
  };
  struct Candidate {
    double ratio;
    int32_t from;
    int32_t to;
    bool operator<(const Candidate& other) const {
      if (ratio != other.ratio) return ratio < other.ratio;
      return std::pair(from, to) > std::pair(other.from, other.to);
    }
  };

  Unit& UnitAt(int32_t unit) { return units_[static_cast<size_t>(unit)]; }
  bool Alive(int32_t unit) { return joined_.Find(unit) == unit; }

  void MakeUnits() {
    const SimGraph& sim = task_.sim;
    const auto units = static_cast<int32_t>(units_.size());
    const std::vector<uint8_t> allowed = sim.AllowedOf(unit_of_op_, units);
    for (int32_t unit = 0; unit < units; ++unit) {
      const auto row = allowed.begin() + std::ptrdiff_t{unit} * sim.num_devices;
      UnitAt(unit).sum.allowed.assign(row, row + sim.num_devices);
    }
    double all_work_us = 0;
    for (size_t op = 0; op < unit_of_op_.size(); ++op) {
      Unit& unit = UnitAt(unit_of_op_[op]);
      unit.sum.cost_us += sim.MeanBusyUs(static_cast<OpIndex>(op));
      unit.sum.bytes += static_cast<double>(sim.param_bytes[op] + sim.output_bytes[op] + sim.temp_bytes[op]);
      ++unit.ops;
      all_work_us += sim.MeanBusyUs(static_cast<OpIndex>(op));
    }
    most_work_us_ = limits_.most_work * all_work_us;
    most_bytes_ = limits_.most_memory * static_cast<double>(*std::ranges::min_element(sim.memory_bytes));
  }

  void MakeEdges() {
    std::vector<Send> sends = Sends();
    std::ranges::stable_sort(sends, {}, [](const Send& send) { return std::pair(send.from, send.to.unit); });
    std::vector<std::pair<int32_t, int32_t>> producers;
    for (size_t first = 0, last = 0; first < sends.size(); first = last) {
      const Send& send = sends[first];
      double us = 0;
      for (; last < sends.size() && sends[last].from == send.from && sends[last].to.unit == send.to.unit; ++last)
        us += sends[last].to.send_us;
      UnitAt(send.from).readers.push_back({send.to.unit, us});
      producers.emplace_back(send.to.unit, send.from);
    }
    producers_ = NeighbourLists(static_cast<int32_t>(units_.size()), producers);
  }

  // One of each tensor to each unit that reads it. What leads to units of lower numbers, such as from a parameter's
  // gradient to it, orders nothing (unit_order.h) and is left out.
  std::vector<Send> Sends() const {
    const SimGraph& sim = task_.sim;
    const MeanLink link = MeanLinkOf(sim);
    std::vector<Send> sends;
    std::vector<int32_t> readers;
    for (OpIndex op = 0; op < sim.num_ops; ++op) {
      const int32_t from = unit_of_op_[static_cast<size_t>(op)];
      for (const int32_t t : sim.TensorsOf(op)) {
        const double us = link.TransferUs(sim.tensor_bytes[static_cast<size_t>(t)]);
        readers.clear();
        for (const OpIndex reader : sim.tensor_consumers.Row(t))
          readers.push_back(unit_of_op_[static_cast<size_t>(reader)]);
        SortUnique(readers);
        for (const int32_t to : readers) {
          if (to > from) sends.push_back({from, {to, us}});
        }
      }
    }
    return sends;
  }

  // Adds an edge, or what it sends to that which leads to the same unit.
  static void AddEdge(const Edge& edge, std::vector<Edge>& edges) {
    const auto at = std::ranges::lower_bound(edges, edge.unit, {}, &Edge::unit);
    if (at != edges.end() && at->unit == edge.unit) {
      at->send_us += edge.send_us;
    } else {
      edges.insert(at, edge);
    }
  }

  // Adds the other edges to the first ones.
  void Unite(std::vector<Edge>& edges, const std::vector<Edge>& others) {
    both_edges_.clear();
    std::ranges::merge(edges, others, std::back_inserter(both_edges_), {}, &Edge::unit, &Edge::unit);
    edges.clear();
    for (const Edge& edge : both_edges_) {
      if (!edges.empty() && edges.back().unit == edge.unit) {
        edges.back().send_us += edge.send_us;
      } else {
        edges.push_back(edge);
      }
    }
  }

  // As many Offer()s, at less cost.
  void OfferAll() {
    std::vector<Candidate> candidates;
    for (int32_t unit = 0; unit < static_cast<int32_t>(units_.size()); ++unit) {
      for (const Edge& edge : UnitAt(unit).readers) {
        const double ratio = RatioOf(unit, edge);
        if (ratio >= limits_.send_over_compute) candidates.push_back({ratio, unit, edge.unit});
      }
    }
    queue_ = std::priority_queue<Candidate>(std::less<Candidate>(), std::move(candidates));
  }

  // Sending over computing; -1: there is no such edge.
  double RatioOf(int32_t from, int32_t to) {
    const std::vector<Edge>& readers = UnitAt(from).readers;
    const auto edge = std::ranges::lower_bound(readers, to, {}, &Edge::unit);
    return edge == readers.end() || edge->unit != to ? -1 : RatioOf(from, *edge);
  }

  double RatioOf(int32_t from, const Edge& edge) {
    const double compute_us = std::min(UnitAt(from).sum.cost_us, UnitAt(edge.unit).sum.cost_us);
    return compute_us > 0 ? edge.send_us / compute_us : std::numeric_limits<double>::infinity();
  }

  void Offer(int32_t from, int32_t to) {
    const double ratio = RatioOf(from, to);
    if (ratio >= limits_.send_over_compute) queue_.push({ratio, from, to});
  }

  // Whether no path but the edge leads from the one to the other, by what the two can see.
  bool IsOnlyPath(int32_t from, int32_t to) {
    if (UnitAt(from).readers.size() == 1) return true;
    return std::ranges::all_of(producers_.At(to),
                               [&](int32_t producer) { return producer == from || producers_.At(producer).empty(); });
  }

  bool MayJoin(int32_t from, int32_t to) {
    const Unit& a = UnitAt(from);
    const Unit& b = UnitAt(to);
    const bool small = a.sum.cost_us + b.sum.cost_us <= most_work_us_ && a.sum.bytes + b.sum.bytes <= most_bytes_;
    // What takes no time takes no device from what does.
    const bool free = a.sum.cost_us == 0 || b.sum.cost_us == 0;
    const bool may_run = free ? LosesNoDevice(a.sum, b.sum) : ShareADevice(a.sum, b.sum);
    return small && (a.ops == 1 || b.ops == 1) && may_run && IsOnlyPath(from, to);
  }

  void Join(int32_t from, int32_t to) {
    const int32_t kept = std::min(from, to);
    const int32_t gone = std::max(from, to);
    Unit& into = UnitAt(kept);
    Unit out = std::exchange(UnitAt(gone), {});
    joined_.Join(from, to);
    for (const Edge& edge : out.readers) {
      if (edge.unit != kept) producers_.Replace(edge.unit, gone, kept);
    }
    for (const int32_t producer : producers_.At(gone)) {
      if (producer == kept) continue;
      std::vector<Edge>& readers = UnitAt(producer).readers;
      const auto at = std::ranges::lower_bound(readers, gone, {}, &Edge::unit);
      const Edge edge = {kept, at->send_us};
      readers.erase(at);
      AddEdge(edge, readers);
    }
    Unite(into.readers, out.readers);
    std::erase_if(into.readers, [&](const Edge& edge) { return edge.unit == kept || edge.unit == gone; });
    both_producers_.clear();
    std::ranges::set_union(producers_.At(kept), producers_.At(gone), std::back_inserter(both_producers_));
    std::erase_if(both_producers_, [&](int32_t unit) { return unit == kept || unit == gone; });
    producers_.Set(kept, both_producers_);
    Absorb(out.sum, into.sum);
    into.ops = std::max(into.ops, out.ops);
    // These edges are new, or may be joined now that the unit or its neighbour has fewer. The ratios of others fell.
    for (const Edge& edge : out.readers) Offer(kept, edge.unit);
    if (into.readers.size() == 1) Offer(kept, into.readers.front().unit);
    const bool few = both_producers_.size() <= kFewProducers;
    for (const int32_t producer : producers_.At(few ? kept : gone)) {
      if (producer != kept) Offer(producer, kept);
    }
  }

  std::vector<GroupIndex> Numbered() {
    std::vector<int32_t> number(units_.size(), -1);
    int32_t next = 0;
    for (size_t unit = 0; unit < units_.size(); ++unit) {
      if (Alive(static_cast<int32_t>(unit))) number[unit] = next++;
    }
    std::vector<GroupIndex> groups;
    for (const int32_t unit : unit_of_op_) groups.push_back(number[static_cast<size_t>(joined_.Find(unit))]);
    std::vector<UnitEdge> edges;
    for (OpIndex op = 0; op < task_.sim.num_ops; ++op) {
      for (const OpIndex reader : task_.sim.ReadersOf(op)) {
        const UnitEdge edge = {groups[static_cast<size_t>(op)], groups[static_cast<size_t>(reader)]};
        if (edge.first != edge.second) edges.push_back(edge);
      }
    }
    const std::vector<int32_t> place = OrderUnits(next, edges);
    for (GroupIndex& group : groups) group = place[static_cast<size_t>(group)];
    return groups;
  }

  const PlacementTask& task_;
  const UnitLimits limits_;
  const StopSignal& stop_;
  const std::vector<GroupIndex>& unit_of_op_;  // Before any is joined.
  std::vector<Unit> units_;
  NeighbourLists producers_{0, {}};  // Of units.
  DisjointSets joined_;              // A unit is there while it stands for its set.
  double most_work_us_ = 0;
  double most_bytes_ = 0;
  std::priority_queue<Candidate> queue_;
  std::vector<Edge> both_edges_;  // Of Unite.
  std::vector<int32_t> both_producers_;
};

}  // namespace

std::vector<GroupIndex> ListUnits(const PlacementTask& task, const UnitLimits& limits, const StopSignal& stop) {
  return UnitJoiner(task, limits, stop).Run();
}

}  // namespace emplace
