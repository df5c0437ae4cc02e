// Draws the moves that a search tries.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/rng.h"
#include "simulator/methods/search/moves/move.h"
#include "simulator/methods/search/moves/search_space.h"
#include "simulator/methods/search/replicas.h"

namespace emplace {

// Which moves are drawn.
struct MoveMix {
  // Of all moves: a family (SearchLevel::families), as far as it is on the same device. A family that is whole takes
  // its parameter along, where a group that moves alone has to have it sent.
  double family = 0;
  // Of the others; the rest move one group.
  double neighbours = 0;         // A group with its neighbours on the same device,
  double neighbour_comes = 0.5;  // of which each of the first ones comes with this chance.
  double swap = 0;               // Two groups change places.
  // Of moves that do not swap, those that go where a neighbour is rather than anywhere.
  double to_neighbour = 0.5;
  // Of all moves at the coarsest level: of columns (columns.h) in place of groups, and without families. It falls with
  // the square of the level to none at the finest.
  double column = 0;
  // Of all moves of a walk with orders, without micro-batches: a window of the schedule that is decided again
  // (window_moves.h).
  double window = 0;
  // Of all moves of such a walk: one that relieves a busy device (relief_moves.h). Less where there are many
  // moves for each unit (walks.cc). Windows are a share of the others.
  double relief = 0;
  // All moves are mirrored by these; null: none is.
  const Replicas* replicas = nullptr;
};

// Not thread-safe. The same generator of random numbers gives the same moves.
class MoveGenerator {
 public:
  // REQUIRES: space outlives it, and space.any(). Without columns it draws none.
  explicit MoveGenerator(const SearchSpace& space) : space_(space) {}

  // Draws a legal move of groups of the level. It may be empty.
  void Draw(Rng& rng, size_t level, const MoveMix& mix, std::span<const DeviceIndex> placement, Move& move);

 private:
  // As Draw, without mirroring.
  void DrawAlone(Rng& rng, size_t level, const MoveMix& mix, std::span<const DeviceIndex> placement, Move& move) const;
  // Draws a move of a family of the level. REQUIRES: there is one.
  void DrawFamily(Rng& rng, const SearchLevel& level, const MoveMix& mix, std::span<const DeviceIndex> placement,
                  Move& move) const;
  // The groups or the columns of the level.
  const SearchLevel& DrawGroups(Rng& rng, size_t level, double column) const;
  // A device for the group other than `from`: any, or that of a neighbour. -1: none was found.
  DeviceIndex DrawDevice(Rng& rng, const SearchLevel& level, const MoveMix& mix, GroupIndex group, DeviceIndex from,
                         std::span<const DeviceIndex> placement) const;
  // Moves the ops of the group that are on `from`.
  void AddGroup(const SearchLevel& level, GroupIndex group, DeviceIndex from, DeviceIndex to,
                std::span<const DeviceIndex> placement, Move& move) const;

  const SearchSpace& space_;
  Move alone_;  // Scratch.
};

}  // namespace emplace
