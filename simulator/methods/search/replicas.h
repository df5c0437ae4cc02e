// How the micro-batches of a step can be spread over devices that are alike: in replicas of as many devices each, which
// do the same at the same time. The step ends with the slowest replica, so a move in one alone gains nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/csr.h"
#include "common/ids.h"
#include "simulator/methods/search/moves/move.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Immutable once built; any thread may read one. D devices.
//
// Ops that must stay together (the task's finest search level) stay so under all of this: where those of one
// micro-batch do not match those of every other one, they count as shared by all.
class Replicas {
 public:
  // As many replicas as there are micro-batches, or the next smaller divisor of D. None where this is less than two, or
  // there are no micro-batches, or more than devices: then data-parallel keeps all devices busy. None either if some
  // op takes longer on one device than on another, or their memory differs. Links are not compared: with a topology,
  // the same placement may take longer in one replica than in another.
  static std::optional<Replicas> Of(const PlacementTask& task);

  int32_t count() const { return count_; }
  // Devices of a replica: those from replica * width() on.
  int32_t width() const { return width_; }
  // The replica of an op; -1 for what micro-batches share.
  int32_t ReplicaOf(OpIndex op) const {
    const int32_t microbatch = microbatch_of_op_[static_cast<size_t>(op)];
    return microbatch < 0 ? -1 : microbatch % count_;
  }
  // The op of replica 0 that stands for this op; the op itself for what micro-batches share.
  OpIndex StandInOf(OpIndex op) const;
  // Writes to `mirrored` the move with what follows for all micro-batches: an op and its copies go to the device of
  // their replica that is in the place of the op's new one; with replicas of one device, as many devices further from
  // that as the op's new device is from its own. What micro-batches share goes where the move has it. `mirrored` is
  // empty if an op would have to go to two devices. REQUIRES: they are not the same object.
  void Mirror(const Move& move, Move& mirrored) const;

 private:
  Replicas(const PlacementTask& task, int32_t count);

  int32_t count_;
  int32_t width_;
  std::vector<int32_t> microbatch_of_op_;  // [n] -1: shared
  std::vector<OpIndex> copy_of_op_;        // [n] as the task's
  Csr copies_;                             // [n] of an op that others repeat: itself and its copies, ascending
};

}  // namespace emplace
