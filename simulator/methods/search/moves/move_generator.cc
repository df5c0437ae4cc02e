#include "simulator/methods/search/moves/move_generator.h"

#include <algorithm>

namespace emplace {
namespace {

// A move with neighbours may take the first ones along.
constexpr size_t kMostNeighbours = 8;

DeviceIndex DeviceOfAny(Rng& rng, std::span<const OpIndex> ops, std::span<const DeviceIndex> placement) {
  return placement[static_cast<size_t>(OneOf(rng, ops))];
}

}  // namespace

void MoveGenerator::Draw(Rng& rng, size_t level, const MoveMix& mix, std::span<const DeviceIndex> placement,
                         Move& move) {
  if (mix.replicas == nullptr) return DrawAlone(rng, level, mix, placement, move);
  DrawAlone(rng, level, mix, placement, alone_);
  mix.replicas->Mirror(alone_, move);
  std::erase_if(move, [&](const OpMove& to) { return placement[static_cast<size_t>(to.op)] == to.device; });
}

void MoveGenerator::DrawAlone(Rng& rng, size_t level_index, const MoveMix& mix, std::span<const DeviceIndex> placement,
                              Move& move) const {
  move.clear();
  const SearchLevel& level = DrawGroups(rng, level_index, mix.column);
  if (level.movable.empty()) return;
  if (mix.family > 0 && !level.families.empty() && rng.Uniform() < mix.family) {
    DrawFamily(rng, level, mix, placement, move);
    return;
  }
  const double kind = rng.Uniform();
  const GroupIndex group = OneOf(rng, level.movable);
  const DeviceIndex from = DeviceOfAny(rng, level.ops.Row(group), placement);
  if (kind < mix.swap) {
    const GroupIndex other = OneOf(rng, level.movable);
    const DeviceIndex to = DeviceOfAny(rng, level.ops.Row(other), placement);
    if (other == group || to == from || !level.Allowed(group, to) || !level.Allowed(other, from)) return;
    AddGroup(level, group, from, to, placement, move);
    AddGroup(level, other, to, from, placement, move);
    return;
  }
  const DeviceIndex to = DrawDevice(rng, level, mix, group, from, placement);
  if (to < 0) return;
  AddGroup(level, group, from, to, placement, move);
  if (kind >= 1 - mix.neighbours) {
    const std::span<const GroupIndex> neighbours = level.neighbours.Row(group);
    for (const GroupIndex other : neighbours.first(std::min(neighbours.size(), kMostNeighbours))) {
      if (rng.Uniform() < mix.neighbour_comes && level.Allowed(other, to))
        AddGroup(level, other, from, to, placement, move);
    }
  }
}

const SearchLevel& MoveGenerator::DrawGroups(Rng& rng, size_t level, double column) const {
  const size_t coarsest = space_.levels().size() - 1;
  if (column > 0 && level > 0 && !space_.columns().empty()) {
    const double height = static_cast<double>(level) / static_cast<double>(coarsest);
    if (rng.Uniform() < column * height * height) return space_.columns()[level - 1];
  }
  return space_.levels()[level];
}

void MoveGenerator::DrawFamily(Rng& rng, const SearchLevel& level, const MoveMix& mix,
                               std::span<const DeviceIndex> placement, Move& move) const {
  const std::span<const GroupIndex> family = OneOf(rng, level.families);
  const GroupIndex group = OneOf(rng, family);
  const DeviceIndex from = DeviceOfAny(rng, level.ops.Row(group), placement);
  const DeviceIndex to = DrawDevice(rng, level, mix, group, from, placement);
  if (to < 0) return;
  for (const GroupIndex member : family) {
    if (level.Allowed(member, to)) AddGroup(level, member, from, to, placement, move);
  }
}

DeviceIndex MoveGenerator::DrawDevice(Rng& rng, const SearchLevel& level, const MoveMix& mix, GroupIndex group,
                                      DeviceIndex from, std::span<const DeviceIndex> placement) const {
  const std::span<const GroupIndex> neighbours = level.neighbours.Row(group);
  if (level.num_devices > 2 && !neighbours.empty() && rng.Uniform() < mix.to_neighbour) {
    const DeviceIndex to = DeviceOfAny(rng, level.ops.Row(OneOf(rng, neighbours)), placement);
    if (to != from && level.Allowed(group, to)) return to;
  }
  DeviceIndex to = -1;
  int64_t others = 0;
  for (DeviceIndex device = 0; device < level.num_devices; ++device) {
    if (device == from || !level.Allowed(group, device)) continue;
    if (rng.UniformInt(0, others++) == 0) to = device;  // Each of them is as likely.
  }
  return to;
}

void MoveGenerator::AddGroup(const SearchLevel& level, GroupIndex group, DeviceIndex from, DeviceIndex to,
                             std::span<const DeviceIndex> placement, Move& move) const {
  for (const OpIndex op : level.ops.Row(group)) {
    if (placement[static_cast<size_t>(op)] == from) move.push_back({op, to});
  }
}

}  // namespace emplace
