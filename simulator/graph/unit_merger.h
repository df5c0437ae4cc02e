// Merges the units of a graph (op_units.h) into fewer and fewer groups, with which groupings begin and end. Merging
// never makes a cycle among the forward edges, and never joins what no device may run together.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/threads/stop.h"
#include "simulator/graph/acyclic_contraction.h"
#include "simulator/graph/group_reads.h"
#include "simulator/graph/op_units.h"

namespace emplace {

// A group costs at most this multiple of the mean cost at first, and so many times as much in each further round.
inline constexpr double kFirstCostCap = 1.5;
inline constexpr double kCostCapGrowth = 1.5;

// Groups of ops, in topological order of the forward edges.
struct MergedUnits {
  std::vector<GroupIndex> group_of_op;  // [num_ops]
  std::vector<OpUnit> groups;
};

// Needs neither the graph nor the cluster once it is made. Where a function is told to stop, it has merged less. Not
// thread-safe.
class UnitMerger {
 public:
  explicit UnitMerger(OpUnits units);

  int32_t groups_left() const { return groups_left_; }
  // What costs nothing is not worth a decision of its own: it goes with its first reader, or else with a producer. It
  // takes no device from an op that takes time.
  void FoldZeroCost(const StopSignal& stop);
  // Merges linear chains, each up to so many bytes, of ops that the same devices may run.
  void ContractChains(double most_bytes, const StopSignal& stop);
  // Merges until so many are left, or no merge is allowed: along the heaviest edges first, under a cap on cost that
  // keeps groups even and grows until few enough are left. Before it grows, what lies side by side in the order is
  // merged too: where most merges would make a cycle, the few that would not could otherwise end in one giant group.
  void MergeDown(int32_t most_groups, const StopSignal& stop);

  MergedUnits Merged() const;
  std::vector<GroupIndex> GroupOfOp() const;  // That of Merged().
  // Where there is no time to merge: stretches of the order, filled one after the other up to an even cost: so many,
  // and more only where neighbours share no device that may run both.
  MergedUnits CutInOrder(int32_t most_groups) const;

 private:
  OpUnit& UnitAt(int32_t node) { return units_[static_cast<size_t>(node)]; }
  bool MayJoin(int32_t a, int32_t b) { return ShareADevice(UnitAt(a), UnitAt(b)); }
  void Join(int32_t a, int32_t b);
  bool TryMerge(int32_t from, int32_t to);
  bool TryMergeLosingNoDevice(int32_t from, int32_t to);
  bool TryFold(int32_t node, std::span<const int32_t> neighbours, bool forward);
  bool MergeHeavyEdges(int32_t most_groups, double cap_us, const StopSignal& stop);
  std::vector<GroupEdge> HeaviestFirst();
  bool MergeInOrder(int32_t most_groups, double cap_us, const StopSignal& stop);
  std::vector<std::pair<double, size_t>> CheapestPairs(const std::vector<int32_t>& order, double cap_us);
  void MergePairs(const std::vector<int32_t>& order, const std::vector<size_t>& firsts);
  std::vector<int32_t> NodesInOrder() const;
  std::vector<GroupIndex> NumbersOfOps(const std::vector<GroupIndex>& number) const;

  std::vector<int32_t> unit_of_op_;  // [num_ops]
  std::vector<OpUnit> units_;        // [units]; of dead nodes, what they were
  AcyclicContraction dag_;           // Of units.
  GroupReads reads_;                 // Of units, by the nodes that they were at the last look.
  int32_t groups_left_;
};

}  // namespace emplace
