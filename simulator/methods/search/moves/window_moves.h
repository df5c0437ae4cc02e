// Moves that free a part of a schedule and decide it again: all that starts in a window of time, unit by unit in the
// order of the run, each on the device on which the longest way through it is shortest. A list schedule decides with
// what comes before it; here what comes after is known, too. One such move places many units well, where evaluating a
// move costs much: on large graphs.
#pragma once

#include <span>
#include <vector>

#include "common/rng.h"
#include "simulator/engine/timeline.h"
#include "simulator/graph/placement.h"
#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/search/moves/move.h"
#include "simulator/methods/search/moves/search_space.h"

namespace emplace {

// Not thread-safe. The same generator of random numbers gives the same moves.
class WindowMoves {
 public:
  // REQUIRES: both outlive this; graph is that of the space's task.
  WindowMoves(const SearchSpace& space, const ScheduleGraph& graph);

  // The run of a placement [num_ops], from which moves are drawn from now on.
  void SetBase(const Placement& placement, const Timeline& run);
  // Draws a legal move from the base. It may be empty. latest_us: [num_ops] when ops had to start in the base's run, as
  // of Simulator::LatestStartsUs. REQUIRES: there is a base.
  void Draw(Rng& rng, std::span<const double> latest_us, Move& move);

 private:
  // A way to run a unit on a device.
  struct Slot {
    double finish_us = 0;
    double through_us = 0;  // The longest way through it, from the begin to the end of the step.
    double sent_us = 0;     // Time of the transfers that it waits for.
  };

  // Draws the window: its units, and when the devices get free for it.
  void DrawWindow(Rng& rng);
  void Decide(GroupIndex unit, double noise_us, Rng& rng, std::span<const double> latest_us);
  Slot Fit(GroupIndex unit, DeviceIndex device, std::span<const double> latest_us) const;
  double TailUs(GroupIndex unit, DeviceIndex device, std::span<const double> latest_us) const;
  // Takes parameters along that all of their readers have left.
  void MoveParameters();
  void Put(OpIndex op, DeviceIndex device, double finish_us);

  const ScheduleGraph& graph_;
  const SimGraph& sim_;
  const SearchLevel& units_;
  const std::vector<uint8_t> is_free_;  // [n] free_sources.h
  double makespan_us_ = 0;
  std::vector<double> start_us_;   // [n] of the base
  std::vector<double> finish_us_;  // [n] of the base, and in a move of what is decided
  Placement device_;               // [n] likewise
  // Of a move.
  double length_us_ = 0;                // Of the window.
  std::vector<GroupIndex> window_;      // By start.
  std::vector<uint8_t> pending_;        // [units] in the window, and not decided yet
  std::vector<double> device_free_us_;  // [D]
  std::vector<double> link_free_us_;    // [D] of the sending link
  struct Undo {
    OpIndex op;
    DeviceIndex device;
    double finish_us;
  };
  std::vector<Undo> undo_;
};

}  // namespace emplace
