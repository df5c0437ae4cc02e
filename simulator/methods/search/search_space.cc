#include "simulator/methods/search/search_space.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulator/engine/free_sources.h"

namespace emplace {
namespace {

// An op with more readers than this couples them loosely: only the first ones count as neighbours.
constexpr size_t kMostReaders = 64;

struct Edge {
  GroupIndex from;
  GroupIndex to;
  double bytes;
};

// The edges of a level's groups, both ways: summed for each pair, the heaviest of a group first.
std::vector<Edge> EdgesOf(const SimGraph& sim, const std::vector<GroupIndex>& group_of_op) {
  std::vector<Edge> edges;
  for (size_t producer = 0; producer < group_of_op.size(); ++producer) {
    for (int32_t tensor = sim.tensor_begin[producer]; tensor < sim.tensor_begin[producer + 1]; ++tensor) {
      const auto bytes = static_cast<double>(sim.tensor_bytes[static_cast<size_t>(tensor)]);
      const std::span<const int32_t> readers = sim.tensor_consumers.Row(tensor);
      for (const OpIndex reader : readers.first(std::min(readers.size(), kMostReaders))) {
        const GroupIndex from = group_of_op[producer];
        const GroupIndex to = group_of_op[static_cast<size_t>(reader)];
        if (from == to) continue;
        edges.push_back({from, to, bytes});
        edges.push_back({to, from, bytes});
      }
    }
  }
  const auto by_pair = [](const Edge& a, const Edge& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; };
  std::sort(edges.begin(), edges.end(), by_pair);
  std::vector<Edge> summed;
  for (const Edge& edge : edges) {
    if (!summed.empty() && summed.back().from == edge.from && summed.back().to == edge.to) {
      summed.back().bytes += edge.bytes;
    } else {
      summed.push_back(edge);
    }
  }
  std::stable_sort(summed.begin(), summed.end(),
                   [](const Edge& a, const Edge& b) { return a.from != b.from ? a.from < b.from : a.bytes > b.bytes; });
  return summed;
}

// SearchLevel::families. REQUIRES: the level has the other members.
std::vector<std::vector<GroupIndex>> FamiliesOf(const SimGraph& sim, const SearchLevel& level) {
  std::vector<std::vector<GroupIndex>> families;
  const std::vector<uint8_t> is_free = FreeSources(sim);
  for (size_t source = 0; source < is_free.size(); ++source) {
    if (is_free[source] == 0) continue;
    std::vector<GroupIndex> family = {level.group_of_op[source]};
    for (const OpIndex reader : sim.ReadersOf(static_cast<OpIndex>(source)))
      family.push_back(level.group_of_op[static_cast<size_t>(reader)]);
    std::ranges::sort(family);
    family.erase(std::unique(family.begin(), family.end()), family.end());
    std::erase_if(family, [&](GroupIndex group) { return !std::ranges::binary_search(level.movable, group); });
    if (family.size() > 1 && family.size() <= SearchLevel::kMostInFamily) families.push_back(std::move(family));
  }
  return families;
}

SearchLevel MakeLevel(const SimGraph& sim, const std::vector<GroupIndex>& group_of_op) {
  const auto groups = static_cast<size_t>(1 + *std::max_element(group_of_op.begin(), group_of_op.end()));
  const auto devices = static_cast<size_t>(sim.num_devices);
  SearchLevel level;
  level.group_of_op = group_of_op;
  level.ops = CsrFromPairs(static_cast<int32_t>(groups), [&](auto visit) {
    for (OpIndex op = 0; op < sim.num_ops; ++op) visit(group_of_op[static_cast<size_t>(op)], op);
  });
  level.allowed.assign(groups * devices, 1);
  for (OpIndex op = 0; op < sim.num_ops; ++op) {
    const auto group = static_cast<size_t>(group_of_op[static_cast<size_t>(op)]);
    for (DeviceIndex device = 0; device < sim.num_devices; ++device) {
      if (std::isnan(sim.BusyUs(op, device))) level.allowed[group * devices + static_cast<size_t>(device)] = 0;
    }
  }
  const std::vector<Edge> edges = EdgesOf(sim, group_of_op);
  auto edge = edges.begin();
  for (size_t group = 0; group < groups; ++group) {
    for (; edge != edges.end() && static_cast<size_t>(edge->from) == group; ++edge) {
      level.neighbours.items.push_back(edge->to);
    }
    level.neighbours.begin.push_back(static_cast<int32_t>(level.neighbours.items.size()));
    const auto allowed = level.allowed.begin() + static_cast<std::ptrdiff_t>(group * devices);
    if (std::count(allowed, allowed + sim.num_devices, 1) > 1) level.movable.push_back(static_cast<GroupIndex>(group));
  }
  level.families = FamiliesOf(sim, level);
  return level;
}

}  // namespace

SearchSpace::SearchSpace(const PlacementTask& task) : task_(task) {
  for (const std::vector<GroupIndex>& group_of_op : task.search_levels) {
    levels_.push_back(MakeLevel(task.sim, group_of_op));
  }
}

size_t SearchSpace::LevelWith(int32_t groups) const {
  for (size_t level = 0; level < levels_.size(); ++level) {
    if (levels_[level].num_groups() <= groups) return level;
  }
  return levels_.size() - 1;
}

}  // namespace emplace
