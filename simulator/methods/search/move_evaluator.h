// How a walk scores moves: an evaluator has a base, a placement, and scores moves from there.
#pragma once

#include <optional>
#include <span>

#include "simulator/graph/placement.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search/move.h"

namespace emplace {

// Whether a search may take a move: if it lacks fewer bytes of memory than the base, or as few with a makespan of
// limit_us at most.
inline bool MayTake(const SearchScore& score, const SearchScore& base, double limit_us) {
  return score <= SearchScore{.bytes_over = base.bytes_over, .makespan_us = limit_us};
}

// Each thread needs its own.
class MoveEvaluator {
 public:
  virtual ~MoveEvaluator() = default;
  // Returns the score of the new base. REQUIRES (both): placement is legal.
  virtual SearchScore SetBase(std::span<const DeviceIndex> placement) = 0;
  // As above, with a score that is known.
  virtual void SetBase(std::span<const DeviceIndex> placement, const SearchScore& score) = 0;
  // The score of the base with `move`, if MayTake. REQUIRES: there is a base, and the move is legal.
  virtual std::optional<SearchScore> Try(const Move& move, double limit_us) = 0;
  virtual const Placement& base() const = 0;
};

}  // namespace emplace
