#include "simulator/methods/search/move_generator.h"

#include <algorithm>

namespace emplace {
namespace {

// Of single moves, those that go where a neighbour is rather than anywhere.
constexpr double kToNeighbour = 0.5;
// A move with neighbours takes each of the first ones with this chance.
constexpr size_t kMostNeighbours = 8;
constexpr double kNeighbourComes = 0.5;

}  // namespace

MoveGenerator::MoveGenerator(const SearchSpace& space)
    : space_(space), devices_(static_cast<size_t>(space.task().sim.num_devices)) {}

void MoveGenerator::Draw(Rng& rng, size_t level_index, const MoveMix& mix, std::span<const DeviceIndex> placement,
                         Move& move) {
  move.clear();
  const SearchLevel& level = space_.levels()[level_index];
  if (level.movable.empty()) return;
  const auto draw_group = [&] {
    return level.movable[static_cast<size_t>(rng.UniformInt(0, std::ssize(level.movable) - 1))];
  };
  const auto device_of = [&](GroupIndex group) {
    const std::span<const OpIndex> ops = level.ops.Row(group);
    return placement[static_cast<size_t>(ops[static_cast<size_t>(rng.UniformInt(0, std::ssize(ops) - 1))])];
  };
  const double kind = rng.Uniform();
  const GroupIndex group = draw_group();
  const DeviceIndex from = device_of(group);
  if (kind < mix.swap) {
    const GroupIndex other = draw_group();
    const DeviceIndex to = device_of(other);
    if (other == group || to == from || !Allowed(level, group, to) || !Allowed(level, other, from)) return;
    AddGroup(level, group, from, to, placement, move);
    AddGroup(level, other, to, from, placement, move);
    return;
  }
  const DeviceIndex to = DrawDevice(rng, level, group, from, placement);
  if (to < 0) return;
  AddGroup(level, group, from, to, placement, move);
  if (kind >= 1 - mix.neighbours) {
    const std::span<const GroupIndex> neighbours = level.neighbours.Row(group);
    for (const GroupIndex other : neighbours.first(std::min(neighbours.size(), kMostNeighbours))) {
      if (rng.Uniform() < kNeighbourComes && Allowed(level, other, to))
        AddGroup(level, other, from, to, placement, move);
    }
  }
}

DeviceIndex MoveGenerator::DrawDevice(Rng& rng, const SearchLevel& level, GroupIndex group, DeviceIndex from,
                                      std::span<const DeviceIndex> placement) const {
  const std::span<const GroupIndex> neighbours = level.neighbours.Row(group);
  if (devices_ > 2 && !neighbours.empty() && rng.Uniform() < kToNeighbour) {
    const GroupIndex other = neighbours[static_cast<size_t>(rng.UniformInt(0, std::ssize(neighbours) - 1))];
    const std::span<const OpIndex> ops = level.ops.Row(other);
    const DeviceIndex to =
        placement[static_cast<size_t>(ops[static_cast<size_t>(rng.UniformInt(0, std::ssize(ops) - 1))])];
    if (to != from && Allowed(level, group, to)) return to;
  }
  DeviceIndex to = -1;
  int64_t others = 0;
  for (DeviceIndex device = 0; device < static_cast<DeviceIndex>(devices_); ++device) {
    if (device == from || !Allowed(level, group, device)) continue;
    if (rng.UniformInt(0, others++) == 0) to = device;  // Each of them is as likely.
  }
  return to;
}

void MoveGenerator::AddGroup(const SearchLevel& level, GroupIndex group, DeviceIndex from, DeviceIndex to,
                             std::span<const DeviceIndex> placement, Move& move) {
  for (const OpIndex op : level.ops.Row(group)) {
    if (placement[static_cast<size_t>(op)] == from) move.push_back({op, to});
  }
}

}  // namespace emplace
