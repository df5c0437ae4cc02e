// The schedule that the method `list` makes of a contracted graph: unit by unit, each where it ends first or where a
// scorer says.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/lists/units/gap_line.h"
#include "simulator/methods/lists/units/unit_scorer.h"

namespace emplace {

// A device runs its ops in the gaps that are left. A link sends one tensor after the other, in the order in which they
// were scheduled: a run sends tensors as they get ready, so that gaps before others would often not be there. Where
// transfers block devices, they too need gaps, in both of their devices. Not thread-safe. n ops, D devices.
class UnitScheduler {
 public:
  // is_free: [n] free_sources.h. room_bytes: [D] as of UnitPlacement. scorer: of the same graph, told of no unit so
  // far; null: each unit goes where it ends first. REQUIRES: graph, is_free and scorer outlive this.
  UnitScheduler(const ScheduleGraph& graph, const std::vector<uint8_t>& is_free, std::span<const double> room_bytes,
                UnitScorer* scorer = nullptr);

  // Places all ops. by_rank: a topological order. Throws Stopped once the graph's stop says so.
  void Run(std::span<const OpIndex> by_rank);
  const UnitPlacement& units() const { return units_; }

 private:
  struct Blocked {
    DeviceIndex device;
    double start_us;
    double end_us;
  };

  // The links that a transfer keeps busy.
  std::span<const int32_t> LinksOf(DeviceIndex from, DeviceIndex to);
  // When both devices are free first, from ready_us on, for so long.
  double BothFreeUs(DeviceIndex from, DeviceIndex to, double ready_us, double duration_us) const;
  // Sends a tensor to a device that does not have it, from ready_us on, unless it has been sent. Returns its arrival.
  double Send(int32_t tensor, DeviceIndex from, DeviceIndex to, double ready_us, UnitFit& fit);
  // Where the op fits on the device first, with the transfers that it waits for, which are sent.
  UnitFit Fit(OpIndex op, DeviceIndex device);
  // Takes back what Fit has sent.
  void Unsend();
  // The parameters that the op is the first to read, and that may still go to one device or another.
  void CollectNewParameters(OpIndex op);
  DeviceIndex ChooseDevice(OpIndex op);
  void PlaceNext(OpIndex op);
  void TellScorer(OpIndex op, const UnitFit& fit);

  const ScheduleGraph& graph_;
  const SimGraph& sim_;
  const std::vector<uint8_t>& is_free_;
  UnitScorer* const scorer_;
  UnitPlacement units_;
  std::vector<GapLine> devices_;                           // [D]
  std::vector<double> link_free_us_;                       // Of each link.
  std::vector<double> finish_us_;                          // [n]
  std::vector<double> arrival_us_;                         // By ScheduleGraph::ArrivalIndex; -1: not sent.
  std::vector<std::pair<double*, double>> changed_links_;  // By Fit, in the two above, and what was there before.
  std::vector<Blocked> blocked_;                           // By the transfers of Fit, one after the other.
  std::vector<OpIndex> parameters_;                        // Scratch.
  std::vector<UnitFit> fits_;                              // Scratch.
  int32_t own_link_ = 0;                                   // Scratch.
};

}  // namespace emplace
