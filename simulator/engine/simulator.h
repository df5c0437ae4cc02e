// Simulates one step of a placed graph by the rules of docs/design-simulator.md. With the default link model the
// results equal those of Placeto's published simulator. Deterministic. One Simulator serves any number of placements
// and allocates only in its constructor, and in the first SetPriority and SetBase. Not thread-safe: each thread needs
// its own, but the SimGraph may be shared.
//
// If a placement differs little from that of the call before, as between two steps of an episode, Makespan and
// MakespanAndPeak take over the run before up to the time when the difference has an effect (placement_change.h), and
// simulate the rest. The results are the same numbers as without this. Run always simulates everything, because it
// reports every transfer.
//
// With orders (device_order.h), each device that has one runs its ops in just this order.
// A search tries many placements that differ a little from the one it has. SetBase holds that one; each Try then starts
// from the base's run, whatever was tried before, and ends as soon as the makespan is certain (run_bound.h) or likely
// (run_forecast.h) to exceed a limit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/ids.h"
#include "simulator/engine/sim_graph.h"
#include "simulator/engine/timeline.h"
#include "simulator/graph/device_order.h"

namespace emplace {

// When a placement that is tried is given up: when its makespan is certain, or likely, to exceed the limit.
enum class GiveUp : uint8_t { kWhenCertain, kWhenLikely };

class Simulator {
 public:
  // REQUIRES: graph outlives the simulator; orders can be followed (CheckOrders).
  explicit Simulator(const SimGraph& graph, const DeviceOrders& orders = {});
  ~Simulator();
  // From now on a device that gets free starts, of the ops that are ready, the one that is first in this list of all
  // ops, in place of the one that got ready first. StartOrders then has orders that give the same run. The next call
  // simulates everything, and there is no base. The first call allocates, as the first SetBase after it does, and
  // forgets orders.
  void SetPriority(std::span<const OpIndex> first_to_last);

  // Returns the makespan in us. REQUIRES: placement is legal (CheckPlacement), has num_ops entries, and has
  // the ops of each order on the order's device.
  double Makespan(std::span<const DeviceIndex> placement);
  // Returns the makespan in us, and writes the peak memory of each device to peak_bytes [D].
  double MakespanAndPeak(std::span<const DeviceIndex> placement, std::span<int64_t> peak_bytes);
  // Returns the whole timeline. The reference is valid until the next call.
  const Timeline& Run(std::span<const DeviceIndex> placement);

  // [D] the order in which each device started its ops in the last call.
  DeviceOrders StartOrders() const;
  // Simulates a placement, and makes it the base for Try until one of the calls above. Returns its makespan in us. The
  // first call allocates. After a Try within its limit, of the same placement, nothing is simulated again.
  double SetBase(std::span<const DeviceIndex> placement);
  // Returns the makespan in us that Makespan would return if it is at most limit_us, and else infinity, sooner. With
  // GiveUp::kWhenLikely it sometimes returns infinity for a makespan within the limit, too. changed: the ops that may
  // be on another device than in the base, each once. REQUIRES: there is a base, and placement is legal.
  double Try(std::span<const DeviceIndex> placement, std::span<const OpIndex> changed, double limit_us, GiveUp when);
  // [n] when each op of the base had to start at the latest (us), for the same makespan if devices keep their order of
  // ops and no transfer waits for another; a free source that goes before all else, for the sake of its readers only.
  // REQUIRES: there is a base. Valid until the next SetBase.
  std::span<const double> LatestStartsUs() const;
  // Writes the peak memory of each device to peak_bytes [D]. REQUIRES: the last call was SetBase, or Try within its
  // limit, of this placement.
  void Peak(std::span<const DeviceIndex> placement, std::span<int64_t> peak_bytes);

  // The timeline of the last call, without transfers and peaks unless that was Run. REQUIRES: it was not a Try that
  // exceeded its limit.
  const Timeline& timeline() const;

  // Number of op ends and deliveries that the last call simulated. Those taken over do not count, nor do free sources
  // that went before all else (free_sources.h).
  size_t events() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
