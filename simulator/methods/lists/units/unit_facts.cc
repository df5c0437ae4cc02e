#include "simulator/methods/lists/units/unit_facts.h"

#include <algorithm>

#include "simulator/methods/lists/upward_rank.h"

namespace emplace {
namespace {

// Groups of a part's level for each device, at most.
constexpr std::array<size_t, UnitFacts::kNumParts> kGroupsPerDevice = {4, 16};

// The finest level with at most so many groups; the coarsest if none has as few.
const std::vector<GroupIndex>& LevelWith(const PlacementTask& task, size_t groups, const StopSignal& stop) {
  for (const std::vector<GroupIndex>& level : task.levels->All(stop)) {
    if (static_cast<size_t>(CountOf(level)) <= groups) return level;
  }
  return task.levels->All().back();
}

}  // namespace

UnitFacts MakeUnitFacts(const PlacementTask& whole, std::span<const OpIndex> op_of, const ScheduleGraph& units) {
  const auto n = static_cast<size_t>(units.num_ops());
  UnitFacts facts;
  const std::vector<double> rank_us = MeanUpwardRanksUs(units);
  if (const double path_us = *std::ranges::max_element(rank_us); path_us > 0) facts.path_us = path_us;
  for (size_t unit = 0; unit < n; ++unit) {
    facts.mean_us.push_back(units.MeanCostUs(static_cast<OpIndex>(unit)));
    facts.follows_us.push_back(rank_us[unit] - facts.mean_us[unit]);
    facts.depth.push_back(1 - rank_us[unit] / facts.path_us);
  }
  facts.microbatch.assign(n, -1);
  facts.earlier.assign(n, -1);
  for (size_t op = 0; op < op_of.size(); ++op) {
    const auto unit = static_cast<size_t>(op_of[op]);
    if (facts.microbatch[unit] < 0) facts.microbatch[unit] = whole.microbatch_of_op[op];
    const auto original = static_cast<size_t>(whole.copy_of_op[op]);
    if (facts.earlier[unit] < 0 && original != op && op_of[original] != op_of[op])
      facts.earlier[unit] = op_of[original];
  }
  for (size_t i = 0; i < UnitFacts::kNumParts; ++i) {
    const std::vector<GroupIndex>& level =
        LevelWith(whole, kGroupsPerDevice[i] * static_cast<size_t>(units.num_devices()), units.stop());
    facts.part[i].assign(n, -1);
    for (size_t op = 0; op < op_of.size(); ++op) {
      int32_t& part = facts.part[i][static_cast<size_t>(op_of[op])];
      if (part < 0) part = level[op];
    }
  }
  return facts;
}

}  // namespace emplace
