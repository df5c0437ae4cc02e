// Moves that relieve a busy device. In a run some ops wait for nothing but their device, one after the other, up to the
// end of the run: it gets shorter only if one of these, or what ran before it, goes elsewhere. Such a move takes a
// group of one of these ops to a device that is less busy at the time. On a large graph, where a search has few moves
// for each group, most others change what nothing waits for.
#pragma once

#include <span>
#include <vector>

#include "common/csr.h"
#include "common/rng.h"
#include "simulator/engine/timeline.h"
#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/search/moves/move.h"
#include "simulator/methods/search/moves/search_space.h"

namespace emplace {

// Not thread-safe. The same generator of random numbers gives the same moves. n ops, D devices.
class ReliefMoves {
 public:
  // REQUIRES: both outlive this; graph is that of the space's task.
  ReliefMoves(const SearchSpace& space, const ScheduleGraph& graph);

  // The run of a placement, from which moves are drawn from now on. What moves need of it is found for the first one.
  void SetBase(const Timeline& run);
  // Draws a legal move from the base. It may be empty. placement: [n] the base. REQUIRES: there is a base.
  void Draw(Rng& rng, std::span<const DeviceIndex> placement, Move& move);

  // From the end of the base's run back: ops that started as soon as their device had ended another one. Where one
  // waited for its inputs instead, it goes on with the last of their producers. Valid until the next SetBase.
  std::span<const OpIndex> Chain(std::span<const DeviceIndex> placement);

 private:
  size_t CellOf(DeviceIndex device, double us) const;
  // Of the ops that started in a cell, the first of those that started last before `us`; -1: none did.
  OpIndex LastBefore(std::span<const OpIndex> cell, double us) const;
  // The op that ran on this device until `op` could start there; -1: the device was free before.
  OpIndex Before(OpIndex op, DeviceIndex device) const;
  // The producer of the op's inputs that ended last; -1: it reads nothing.
  OpIndex LastProducer(OpIndex op) const;
  void LookAtRun(std::span<const DeviceIndex> placement);
  void FindChain(std::span<const DeviceIndex> placement);
  // One of the chain, the likelier the longer it takes.
  OpIndex DrawOp(Rng& rng) const;
  // Where ops of the group would be done first, as far as can be told from how busy devices are around `at_us`; -1:
  // they cannot leave `from`.
  DeviceIndex DrawDevice(Rng& rng, const SearchLevel& level, GroupIndex group, DeviceIndex from, double at_us,
                         std::span<const OpMove> ops) const;

  const SearchSpace& space_;
  const ScheduleGraph& graph_;
  const SimGraph& sim_;
  double makespan_us_ = 0;         // Of the base,
  std::vector<double> start_us_;   // [n] and when its ops started,
  std::vector<double> finish_us_;  // [n] and ended.
  bool seen_ = false;              // Whether the rest is of the base, too.
  // Of each device and each cell of time, one device after the other: the ops that started in it, and how long they
  // ran.
  Csr started_;
  std::vector<double> busy_us_;
  std::vector<OpIndex> chain_;
  std::vector<double> chain_us_;  // [chain_] sums of their times.
};

}  // namespace emplace
