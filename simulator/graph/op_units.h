// Units, with which grouping begins: the sets of ops that share a `group` label, which have to be together, and every
// other op by itself. Groups, into which units merge, carry the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "simulator/graph/group_reads.h"
#include "simulator/graph/op_graph.h"
#include "simulator/graph/unit_order.h"
#include "simulator/machine/cluster.h"

namespace emplace {

struct OpUnit {
  double cost_us = 0;            // Sum over ops of their mean cost on the devices that may run them.
  double bytes = 0;              // Parameters, temporaries and outputs.
  std::vector<uint8_t> allowed;  // [num_devices] 1 where every op may run
};

// Whether a device may run both.
inline bool ShareADevice(const OpUnit& a, const OpUnit& b) {
  for (size_t d = 0; d < a.allowed.size(); ++d) {
    if (a.allowed[d] == 1 && b.allowed[d] == 1) return true;
  }
  return false;
}

// Whether they share a device, and together may run wherever one of the two may that takes time.
inline bool LosesNoDevice(const OpUnit& a, const OpUnit& b) {
  const auto within = [](const OpUnit& one, const OpUnit& other) {
    return std::ranges::equal(one.allowed, other.allowed, std::ranges::less_equal());
  };
  return ShareADevice(a, b) && (a.cost_us == 0 || within(a, b)) && (b.cost_us == 0 || within(b, a));
}

// Makes `kept` both. REQUIRES: they share a device.
inline void Absorb(const OpUnit& gone, OpUnit& kept) {
  kept.cost_us += gone.cost_us;
  kept.bytes += gone.bytes;
  for (size_t d = 0; d < kept.allowed.size(); ++d) kept.allowed[d] &= gone.allowed[d];
}

struct OpUnits {
  std::vector<OpUnit> units;            // In the order of unit_order.h.
  std::vector<int32_t> unit_of_op;      // [num_ops]
  std::vector<UnitEdge> forward_edges;  // Between units, to higher ones.
  GroupReads reads;                     // Of units.
};

// Throws BadInput, which names an op, when the ops of a unit have no device in common.
OpUnits MakeUnits(const OpGraph& graph, const Cluster& cluster);

}  // namespace emplace
