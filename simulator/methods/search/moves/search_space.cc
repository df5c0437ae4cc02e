#include "simulator/methods/search/moves/search_space.h"

#include <algorithm>
#include <utility>

#include "common/sort_unique.h"
#include "simulator/engine/free_sources.h"
#include "simulator/methods/search/moves/columns.h"
#include "simulator/methods/search/moves/group_links.h"

namespace emplace {
namespace {

// SearchLevel::families. REQUIRES: the level has the other members.
std::vector<std::vector<GroupIndex>> FamiliesOf(const SimGraph& sim, const SearchLevel& level) {
  std::vector<std::vector<GroupIndex>> families;
  const std::vector<uint8_t> is_free = FreeSources(sim);
  for (size_t source = 0; source < is_free.size(); ++source) {
    if (is_free[source] == 0) continue;
    std::vector<GroupIndex> family = {level.group_of_op[source]};
    for (const OpIndex reader : sim.ReadersOf(static_cast<OpIndex>(source)))
      family.push_back(level.group_of_op[static_cast<size_t>(reader)]);
    SortUnique(family);
    std::erase_if(family, [&](GroupIndex group) { return !std::ranges::binary_search(level.movable, group); });
    if (family.size() > 1 && family.size() <= SearchLevel::kMostInFamily) families.push_back(std::move(family));
  }
  return families;
}

SearchLevel MakeLevel(const SimGraph& sim, const std::vector<GroupIndex>& group_of_op) {
  const auto groups = static_cast<size_t>(CountOf(group_of_op));
  const auto devices = static_cast<size_t>(sim.num_devices);
  SearchLevel level;
  level.num_devices = sim.num_devices;
  level.group_of_op = group_of_op;
  level.ops = CsrFromPairs(static_cast<int32_t>(groups), [&](auto visit) {
    for (OpIndex op = 0; op < sim.num_ops; ++op) visit(group_of_op[static_cast<size_t>(op)], op);
  });
  level.allowed = sim.AllowedOf(group_of_op, static_cast<int32_t>(groups));
  const std::vector<GroupLink> links = LinksBetween(sim, group_of_op);
  auto link = links.begin();
  for (size_t group = 0; group < groups; ++group) {
    for (; link != links.end() && static_cast<size_t>(link->from) == group; ++link) {
      level.neighbours.items.push_back(link->to);
    }
    level.neighbours.begin.push_back(static_cast<int32_t>(level.neighbours.items.size()));
    const auto allowed = level.allowed.begin() + static_cast<std::ptrdiff_t>(group * devices);
    if (std::count(allowed, allowed + sim.num_devices, 1) > 1) level.movable.push_back(static_cast<GroupIndex>(group));
  }
  return level;
}

}  // namespace

SearchSpace::SearchSpace(const PlacementTask& task, bool with_columns, const StopSignal& stop) : task_(task) {
  for (const std::vector<GroupIndex>& group_of_op : task.levels->All(stop)) {
    stop.Poll();
    levels_.push_back(MakeLevel(task.sim, group_of_op));
    levels_.back().families = FamiliesOf(task.sim, levels_.back());
  }
  if (!with_columns) return;
  std::vector<int32_t> most;
  for (size_t level = 1; level < levels_.size(); ++level) most.push_back(levels_[level].num_groups());
  for (const std::vector<GroupIndex>& column_of_op : ColumnsByLevel(task.sim, task.levels->Finest(), most, stop)) {
    stop.Poll();
    columns_.push_back(MakeLevel(task.sim, column_of_op));
  }
}

size_t SearchSpace::LevelWith(int32_t groups) const {
  for (size_t level = 0; level < levels_.size(); ++level) {
    if (levels_[level].num_groups() <= groups) return level;
  }
  return levels_.size() - 1;
}

}  // namespace emplace
