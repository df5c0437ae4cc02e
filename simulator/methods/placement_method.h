// A way to place a graph: one class a method, one file each. To add one: derive from PlacementMethod, add its name to
// the table in placement_method.cc, and it is known to `emplace place --method` and `emplace evaluate --methods`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/policy/policy_weights.h"
#include "simulator/placement.h"
#include "simulator/placement_task.h"

namespace emplace {

struct MethodOptions {
  int64_t budget = 100;  // Placements that a searching method may simulate.
  uint64_t seed = 1;
  int32_t samples = 0;                                 // Of `policy`: sampled episodes beside the greedy one.
  std::optional<PolicyWeights> policy = std::nullopt;  // Needed by `policy`.
};

struct MethodResult {
  // nullopt: the method found no legal placement at all (an op that no single device may run, say).
  std::optional<Placement> placement;
  int64_t evaluations = 0;  // Simulator runs it used.
};

// Not thread-safe: one object a thread.
class PlacementMethod {
 public:
  virtual ~PlacementMethod() = default;
  // Whether another seed may give another placement.
  virtual bool draws() const { return false; }
  // Deterministic in (task, options). A placement that fits every device's memory beats any that does not.
  virtual MethodResult Place(const PlacementTask& task) = 0;
};

// Throws BadInput for an unknown name (listing the known ones) and for `policy` without a policy.
std::unique_ptr<PlacementMethod> MakeMethod(const std::string& name, const MethodOptions& options);
std::vector<std::string> MethodNames();

// What the simulator says of a method's placement; every figure that is printed comes from here.
struct MethodScore {
  double makespan_us = 0;           // Infinity without a placement.
  std::vector<int64_t> peak_bytes;  // [D]; empty without a placement.
  bool feasible = false;            // There is a placement and every device's peak fits its memory.
};
MethodScore Score(const PlacementTask& task, const MethodResult& result);

}  // namespace emplace
