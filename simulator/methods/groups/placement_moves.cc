#include "simulator/methods/groups/placement_moves.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace emplace {
namespace {

// Of all moves; the rest move one group.
constexpr double kSwapShare = 0.15;
constexpr double kStretchShare = 0.25;

}  // namespace

PlacementMoves::PlacementMoves(const GroupGraph& graph) : graph_(graph) {
  for (size_t group = 0; group < static_cast<size_t>(graph.num_groups); ++group) {
    if (std::ranges::count(graph.AllowedRow(group), 1) > 1) movable_.push_back(group);
  }
}

void PlacementMoves::Apply(Rng& rng, std::vector<uint8_t>& groups) const {
  const double kind = rng.Uniform();
  if (kind < kSwapShare && SwapTwo(rng, groups)) return;
  if (kind >= 1 - kStretchShare && MoveStretch(rng, groups)) return;
  MoveOne(rng, groups);
}

void PlacementMoves::MoveOne(Rng& rng, std::vector<uint8_t>& groups) const {
  const size_t group = OneOf(rng, movable_);
  size_t device = groups[group];
  while (device == groups[group] || !graph_.Allowed(group, device)) {
    device = static_cast<size_t>(rng.UniformInt(0, graph_.num_devices - 1));
  }
  groups[group] = static_cast<uint8_t>(device);
}

bool PlacementMoves::SwapTwo(Rng& rng, std::vector<uint8_t>& groups) const {
  const size_t a = OneOf(rng, movable_);
  const size_t b = OneOf(rng, movable_);
  if (groups[a] == groups[b] || !graph_.Allowed(a, groups[b]) || !graph_.Allowed(b, groups[a])) return false;
  std::swap(groups[a], groups[b]);
  return true;
}

bool PlacementMoves::MoveStretch(Rng& rng, std::vector<uint8_t>& groups) const {
  // All orders of magnitude of lengths are equally likely.
  const auto n = static_cast<double>(groups.size());
  const auto length = static_cast<int64_t>(std::exp(rng.Uniform(std::log(2.0), std::log(n + 1))));
  const size_t begin = rng.Index(groups.size());
  const size_t end = std::min(groups.size(), begin + static_cast<size_t>(length));
  const auto device = static_cast<size_t>(rng.UniformInt(0, graph_.num_devices - 1));
  bool changed = false;
  for (size_t group = begin; group < end; ++group) {
    if (groups[group] == device || !graph_.Allowed(group, device)) continue;
    groups[group] = static_cast<uint8_t>(device);
    changed = true;
  }
  return changed;
}

}  // namespace emplace
