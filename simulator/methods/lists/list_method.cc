#include "simulator/methods/lists/list_method.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "simulator/engine/free_sources.h"
#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/lists/gap_line.h"
#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/lists/list_units.h"
#include "simulator/methods/lists/upward_rank.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/task/coarse_task.h"

namespace emplace {
namespace {

// A schedule of the contracted graph that grows unit by unit. A device runs its ops in the gaps that are left. A link
// sends one tensor after the other, in the order in which they were scheduled: a run sends tensors as they get ready,
// so that gaps before others would often not be there.
class UnitScheduler {
 public:
  UnitScheduler(const ScheduleGraph& graph, const std::vector<uint8_t>& is_free, std::span<const double> room_bytes)
      : graph_(graph),
        sim_(graph.task().sim),
        is_free_(is_free),
        units_(graph, room_bytes),
        devices_(static_cast<size_t>(sim_.num_devices)),
        link_free_us_(
            static_cast<size_t>(sim_.link_model == LinkModel::kTopology ? sim_.routes.num_channels : sim_.num_devices)),
        finish_us_(static_cast<size_t>(sim_.num_ops)),
        arrival_us_(ArrivalIndex(static_cast<int32_t>(sim_.tensor_bytes.size()), 0), -1) {}

  // by_rank: a topological order.
  void Run(std::span<const OpIndex> by_rank) {
    for (const OpIndex op : by_rank) {
      if (is_free_[static_cast<size_t>(op)] == 0) PlaceWhereItEndsFirst(op);
    }
    for (const OpIndex op : by_rank) {
      if (!units_.IsPlaced(op)) units_.Assign(op, units_.Candidates(op).front());
    }
  }

  const UnitPlacement& units() const { return units_; }

 private:
  struct Slot {
    double start_us = 0;
    double finish_us = std::numeric_limits<double>::infinity();
    double sent_us = 0;  // Time of the transfers that it has to wait for.
  };

  // Index of a tensor's arrival at a device; if one transfer serves all devices, they share an index.
  size_t ArrivalIndex(int32_t tensor, DeviceIndex device) const {
    if (sim_.link_model == LinkModel::kShared) return static_cast<size_t>(tensor);
    return static_cast<size_t>(tensor) * static_cast<size_t>(sim_.num_devices) + static_cast<size_t>(device);
  }

  // The links that a transfer keeps busy.
  std::span<const int32_t> LinksOf(DeviceIndex from, DeviceIndex to) {
    if (sim_.link_model == LinkModel::kTopology) return sim_.routes.channels.Row(from * sim_.num_devices + to);
    own_link_ = from;
    return {&own_link_, 1};
  }

  // Sends a tensor to a device that does not have it, from ready_us on, unless it has been sent. Returns its arrival.
  double Send(int32_t tensor, DeviceIndex from, DeviceIndex to, double ready_us, Slot& slot) {
    double& arrival_us = arrival_us_[ArrivalIndex(tensor, to)];
    if (arrival_us >= 0) return arrival_us;
    const double transfer_us = graph_.TransferUs(tensor, from, to);
    double start_us = ready_us;
    const std::span<const int32_t> links = LinksOf(from, to);
    for (const int32_t link : links) start_us = std::max(start_us, link_free_us_[static_cast<size_t>(link)]);
    for (const int32_t link : links) {
      double& free_us = link_free_us_[static_cast<size_t>(link)];
      changed_links_.push_back({&free_us, free_us});
      free_us = start_us + transfer_us + sim_.LinkTimesOf(from, to).busy_after_us;
    }
    changed_links_.push_back({&arrival_us, arrival_us});
    slot.sent_us += transfer_us;
    return arrival_us = start_us + transfer_us;
  }

  // Where the op fits on the device first, and the transfers that it waits for. A parameter is there from the begin on.
  // To send it so early would hold up all that its device sends, so it counts as sent when the op has all else.
  Slot Fit(OpIndex op, DeviceIndex device) {
    Slot slot;
    for (const bool parameters : {false, true}) {
      for (const int32_t tensor : graph_.InputsOf(op)) {
        const OpIndex producer = graph_.ProducerOf(tensor);
        const auto p = static_cast<size_t>(producer);
        if ((is_free_[p] == 1) != parameters || !units_.IsPlaced(producer)) continue;
        const DeviceIndex from = units_.DeviceOf(producer);
        const double ready_us = parameters ? slot.start_us : finish_us_[p];
        slot.start_us =
            std::max(slot.start_us, from == device ? finish_us_[p] : Send(tensor, from, device, ready_us, slot));
      }
    }
    const double cost_us = graph_.CostUs(op, device);
    slot.start_us = devices_[static_cast<size_t>(device)].EarliestStartUs(slot.start_us, cost_us);
    slot.finish_us = slot.start_us + cost_us;
    return slot;
  }

  // Takes back what Fit has sent.
  void Unsend() {
    for (; !changed_links_.empty(); changed_links_.pop_back())
      *changed_links_.back().first = changed_links_.back().second;
  }

  // The parameters that the op is the first to read, and that may still go anywhere.
  void CollectNewParameters(OpIndex op) {
    parameters_.clear();
    for (const int32_t tensor : graph_.InputsOf(op)) {
      const OpIndex producer = graph_.ProducerOf(tensor);
      if (units_.IsPlaced(producer)) continue;
      if (units_.IsDecided(producer)) {
        units_.Assign(producer, units_.Candidates(producer).front());
      } else {
        parameters_.push_back(producer);
      }
    }
  }

  void PlaceWhereItEndsFirst(OpIndex op) {
    CollectNewParameters(op);
    DeviceIndex best_device = -1;
    Slot best;
    for (const DeviceIndex device : units_.CandidatesWith(op, parameters_)) {
      const Slot slot = Fit(op, device);
      Unsend();
      if (best_device >= 0 && std::pair(slot.finish_us, slot.sent_us) >= std::pair(best.finish_us, best.sent_us))
        continue;
      best = slot;
      best_device = device;
    }
    for (const OpIndex parameter : parameters_) {
      const std::vector<DeviceIndex>& candidates = units_.Candidates(parameter);
      const bool follows = std::ranges::find(candidates, best_device) != candidates.end();
      units_.Assign(parameter, follows ? best_device : candidates.front());
    }
    const Slot slot = Fit(op, best_device);
    changed_links_.clear();
    units_.Assign(op, best_device);
    devices_[static_cast<size_t>(best_device)].Add(slot.start_us, slot.finish_us);
    finish_us_[static_cast<size_t>(op)] = slot.finish_us;
  }

  const ScheduleGraph& graph_;
  const SimGraph& sim_;
  const std::vector<uint8_t>& is_free_;  // [n] free_sources.h
  UnitPlacement units_;
  std::vector<GapLine> devices_;                           // [D]
  std::vector<double> link_free_us_;                       // Of each link.
  std::vector<double> finish_us_;                          // [n]
  std::vector<double> arrival_us_;                         // By ArrivalIndex; -1: not sent.
  std::vector<std::pair<double*, double>> changed_links_;  // By Fit, in the two above, and what was there before.
  std::vector<OpIndex> parameters_;                        // Scratch.
  int32_t own_link_ = 0;                                   // Scratch.
};

// Passes over a graph of so many ops are made in about 0.1 s; a larger graph gets one.
constexpr int32_t kOpsOfAllPasses = 100000;
// After so many passes, each by the ranks of the placement before, another one hardly finds anything better.
constexpr int32_t kMostPasses = 5;
// No ops but those that cost nothing join.
constexpr double kNeverJoin = std::numeric_limits<double>::max();

int64_t PassesOver(const PlacementTask& task, const ListOptions& own) {
  return own.passes > 0 ? own.passes : std::clamp(kOpsOfAllPasses / task.sim.num_ops, 1, kMostPasses);
}

// Places units of one kind, and scores placements of the whole.
class UnitPlacer {
 public:
  UnitPlacer(const ScheduleGraph& whole, const UnitLimits& limits, double alpha, int64_t passes, bool orders)
      : whole_(whole),
        passes_(passes),
        orders_(orders),
        coarse_(whole.task(), {ListUnits(whole.task(), limits, whole.stop())}),
        graph_(coarse_.task(), whole.stop()),
        is_free_(FreeSources(coarse_.task().sim)),
        by_rank_(ByMeanUpwardRank(graph_, alpha)) {}

  // The result, and its score in its order.
  std::pair<MethodResult, SearchScore> Run() {
    int64_t evaluations = 0;
    MethodResult result =
        WithinMemory(whole_.task(), [&](std::span<const double> room_bytes, std::span<double> used_bytes) {
          return BestOfPasses(room_bytes, used_bytes, evaluations);
        });
    result.evaluations += evaluations;
    SearchScore score = *result.score;
    if (!orders_) return {std::move(result), score};
    ChosenOrder order = OrderBy("rank", whole_, *result.placement);
    ++result.evaluations;
    if (order.score < score) {
      score = order.score;
      result.orders = std::move(order.orders);
      result.discipline = std::move(order.discipline);
    }
    return {std::move(result), score};
  }

 private:
  Placement BestOfPasses(std::span<const double> room_bytes, std::span<double> used_bytes, int64_t& evaluations) {
    Placement best;
    SearchScore best_score;
    std::vector<OpIndex> by_rank = by_rank_;
    for (int64_t pass = 0; pass < passes_; ++pass) {
      if (pass > 0 && whole_.stop().Now()) break;
      UnitScheduler scheduler(graph_, is_free_, room_bytes);
      scheduler.Run(by_rank);
      const Placement units = scheduler.units().placement();
      Placement placement = coarse_.Expanded(units);
      const SearchScore score = passes_ > 1 ? ScoreOf(placement) : SearchScore();
      evaluations += passes_ > 1 ? 1 : 0;
      if (best.empty() || score < best_score) {
        best = std::move(placement);
        best_score = score;
        for (size_t d = 0; d < used_bytes.size(); ++d)
          used_bytes[d] = scheduler.units().used_bytes(static_cast<DeviceIndex>(d));
      }
      if (best_score.bytes_over > 0) break;  // Limits of the memory come before shorter times.
      if (pass + 1 < passes_) by_rank = ByPlacedUpwardRank(graph_, units);
    }
    return best;
  }

  SearchScore ScoreOf(const Placement& placement) const {
    return orders_ ? OrderBy("rank", whole_, placement).score : PlacementScorer(whole_.task()).Score(placement);
  }

  const ScheduleGraph& whole_;
  const int64_t passes_;
  const bool orders_;
  const CoarseTask coarse_;
  const ScheduleGraph graph_;  // Of coarse_.
  const std::vector<uint8_t> is_free_;
  const std::vector<OpIndex> by_rank_;
};

}  // namespace

FieldTable<ListOptions> ListMethod::Options() {
  FieldTable<ListOptions> table;
  table.Field("alpha", &ListOptions::alpha)
      .Range(0, 100)
      .Help("How many times transfers, of which it is not known yet between which devices they go, count in ranks");
  table.Field("join", &ListOptions::join)
      .Range(0, 1e9)
      .Help("Ops join where to send takes at least so many times as long as the smaller of the two computations");
  table.Field("most_work", &ListOptions::most_work)
      .Range(0, 1)
      .Help("Share of all work that ops which are joined have together at most");
  table.Field("passes", &ListOptions::passes)
      .Range(0, 1000)
      .Help(
          "Number of passes, each by the ranks of the placement before; from 5 on single ops are placed, too; 0: by "
          "the size of the graph");
  return table;
}

MethodResult ListMethod::Place(const PlacementTask& task) {
  const ScheduleGraph whole(task, stop_);
  MethodResult best;
  SearchScore best_score;
  int64_t evaluations = 0;
  const int64_t passes = PassesOver(task, own_);
  const auto consider = [&](double join) {
    UnitPlacer placer(whole, {.send_over_compute = join, .most_work = own_.most_work}, own_.alpha, passes, orders_);
    auto [result, score] = placer.Run();
    evaluations += result.evaluations;
    if (best.placement && !(score < best_score)) return;
    best = std::move(result);
    best_score = score;
  };
  consider(own_.join);
  if (passes >= kMostPasses && !stop_.Now()) {
    try {
      consider(kNeverJoin);
    } catch (const Stopped&) {  // The first result is kept.
    }
  }
  best.evaluations = evaluations;
  return best;
}

}  // namespace emplace
