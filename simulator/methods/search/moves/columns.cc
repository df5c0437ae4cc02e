#include "simulator/methods/search/moves/columns.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include "common/disjoint_sets.h"
#include "simulator/graph/unit_merger.h"
#include "simulator/methods/search/moves/group_links.h"

namespace emplace {
namespace {

// Added to costs (us), so that what costs nothing has a rating.
constexpr double kLeastUs = 1;

class Joiner {
 public:
  Joiner(const SimGraph& sim, const std::vector<GroupIndex>& unit_of_op, const StopSignal& stop)
      : sim_(sim),
        stop_(stop),
        unit_of_op_(unit_of_op),
        sets_(CountOf(unit_of_op)),
        cost_us_(static_cast<size_t>(sets_.sets())),
        allowed_(sim.AllowedOf(unit_of_op, sets_.sets())) {
    for (OpIndex op = 0; op < sim.num_ops; ++op) {
      const double us = sim.MeanBusyUs(op);
      CostUs(unit_of_op[static_cast<size_t>(op)]) += us;
      total_us_ += us;
    }
  }

  // Joins until at most so many are left, or no two can be joined.
  void JoinDown(int32_t most) {
    double cap_us = kFirstCostCap * total_us_ / most;
    while (sets_.sets() > most) {
      stop_.Poll();
      const bool joined = JoinAlongLinks(most, cap_us);
      if (!joined && cap_us >= total_us_) return;
      cap_us *= kCostCapGrowth;
    }
  }

  // [num_ops] numbered by first op.
  std::vector<GroupIndex> ColumnOfOps() {
    std::vector<GroupIndex> number(cost_us_.size(), -1);
    std::vector<GroupIndex> column_of_op = RootOfOps();
    GroupIndex next = 0;
    for (GroupIndex& column : column_of_op) {
      GroupIndex& its = number[static_cast<size_t>(column)];
      if (its < 0) its = next++;
      column = its;
    }
    return column_of_op;
  }

 private:
  double& CostUs(int32_t column) { return cost_us_[static_cast<size_t>(column)]; }
  std::span<uint8_t> Allowed(int32_t column) {
    const auto devices = static_cast<size_t>(sim_.num_devices);
    return std::span(allowed_).subspan(static_cast<size_t>(column) * devices, devices);
  }

  std::vector<GroupIndex> RootOfOps() {
    std::vector<GroupIndex> root_of_op(unit_of_op_.size());
    for (size_t op = 0; op < root_of_op.size(); ++op) root_of_op[op] = sets_.Find(unit_of_op_[op]);
    return root_of_op;
  }

  bool Join(int32_t a, int32_t b, double cap_us) {
    const auto [kept, gone] = std::minmax({sets_.Find(a), sets_.Find(b)});
    if (kept == gone || CostUs(kept) + CostUs(gone) > cap_us) return false;
    const std::span<uint8_t> allowed = Allowed(kept);
    const std::span<const uint8_t> other = Allowed(gone);
    if (std::inner_product(allowed.begin(), allowed.end(), other.begin(), 0) == 0) return false;
    std::ranges::transform(allowed, other, allowed.begin(), std::bit_and());
    sets_.Join(kept, gone);
    CostUs(kept) += CostUs(gone);
    return true;
  }

  // One pass over the links. False: nothing joined.
  bool JoinAlongLinks(int32_t most, double cap_us) {
    std::vector<GroupLink> links = LinksBetween(sim_, RootOfOps());
    std::erase_if(links, [](const GroupLink& link) { return link.from > link.to; });
    for (GroupLink& link : links)
      link.bytes /= std::sqrt((CostUs(link.from) + kLeastUs) * (CostUs(link.to) + kLeastUs));
    std::ranges::stable_sort(links, std::ranges::greater(), &GroupLink::bytes);
    bool joined = false;
    for (const GroupLink& link : links) {
      if (sets_.sets() <= most) break;
      joined = Join(link.from, link.to, cap_us) || joined;
    }
    return joined;
  }

  const SimGraph& sim_;
  const StopSignal& stop_;
  const std::vector<GroupIndex>& unit_of_op_;
  DisjointSets sets_;  // Of units: the columns.
  // [units], [units * D] of the sets; of units that are not their set's name, what they were.
  std::vector<double> cost_us_;  // Mean over the devices that may run the ops.
  std::vector<uint8_t> allowed_;
  double total_us_ = 0;
};

}  // namespace

std::vector<std::vector<GroupIndex>> ColumnsByLevel(const SimGraph& sim, const std::vector<GroupIndex>& unit_of_op,
                                                    const std::vector<int32_t>& most, const StopSignal& stop) {
  Joiner joiner(sim, unit_of_op, stop);
  std::vector<std::vector<GroupIndex>> levels;
  for (const int32_t groups : most) {
    joiner.JoinDown(groups);
    levels.push_back(joiner.ColumnOfOps());
  }
  return levels;
}

}  // namespace emplace
