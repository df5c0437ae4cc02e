// Placement methods x graphs x seeds: the runs of an evaluation, and running them side by side.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/ids.h"
#include "simulator/graph/grouping.h"
#include "simulator/machine/cluster.h"
#include "simulator/methods/placement_method.h"

namespace emplace {

// Which run: a graph's file, a method by name, a seed.
struct RunKey {
  std::string path;
  std::string method;
  uint64_t seed = 1;

  auto operator<=>(const RunKey&) const = default;
};

// What it came to.
struct RunResult {
  RunKey key;
  std::string graph;       // Its name.
  std::string graph_hash;  // ContentHash of its file's text; empty: not known.
  MethodScore score;       // By the simulator, of the method's placement.
  // What the objective minimizes, of what `emplace place` hands out: that placement, or the best single device's if
  // that is better.
  double placed_us = 0;
  bool placed_feasible = false;
  int64_t evaluations = 0;      // Simulator runs that the method used.
  double seconds = 0;           // Of the method alone.
  double single_device_us = 0;  // Best single device; infinity when no device may run every op.
};

struct EvaluationPlan {
  std::vector<std::filesystem::path> graphs;
  std::vector<std::string> methods;
  std::vector<uint64_t> seeds;  // One at least; a method that draws nothing runs once.
  MethodOptions options;  // Its seed is not used. Methods that cannot minimize its objective minimize the latency.
  std::optional<PolicyVersion> policy_version;  // Of the policy in options, if there is one,
  std::string policy_hash;                      // and the ContentHash of it as a file.
  Cluster cluster;
  int32_t max_groups = kDefaultMaxGroups;

  // Graph by graph, in the order of the lists.
  std::vector<RunKey> Keys() const;
  std::unique_ptr<PlacementMethod> Method(const std::string& name, uint64_t seed) const;
};

// Runs these keys of the plan on `jobs` threads, calling done(result) for each, one at a time, in the order in which
// they end; starts no more once `stop` is set. Throws what the run of the first key that failed has thrown, after the
// others have ended.
void RunEvaluation(const EvaluationPlan& plan, const std::vector<RunKey>& keys, int jobs,
                   const std::function<void(const RunResult&)>& done, const std::atomic<bool>& stop);

}  // namespace emplace
