// Nested groupings of a graph's ops, among which a search moves groups of all sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/threads/mutex.h"
#include "common/threads/stop.h"
#include "simulator/graph/unit_merger.h"

namespace emplace {

// The levels go from fine to coarse, each the group of every op [num_ops], numbered in topological order. The first has
// the smallest sets of ops that have to be together; the second also merges ops of zero cost and chains; each further
// one has at most half as many groups as the one before. Any thread may use one.
class SearchLevels {
 public:
  explicit SearchLevels(std::vector<std::vector<GroupIndex>> levels);
  // first, second: the two finest levels. merger: has the groups of the second. Coarser ones follow down to `fewest`
  // groups. They are made when somebody asks for them, since that takes as long as all else in a large task.
  SearchLevels(std::vector<GroupIndex> first, std::vector<GroupIndex> second, UnitMerger merger, int32_t fewest);

  const std::vector<GroupIndex>& Finest() const { return finest_; }
  // Whether All() has been called.
  bool AllMade() const;
  // All levels. Where `stop` ends the first call early, the coarser ones are missing from then on.
  const std::vector<std::vector<GroupIndex>>& All(const StopSignal& stop = {}) const;

 private:
  const std::vector<GroupIndex> finest_;
  const int32_t fewest_ = 1;
  mutable Mutex mu_;
  mutable std::optional<UnitMerger> merger_ EMPLACE_GUARDED_BY(mu_);  // nullopt: all levels are there.
  mutable std::vector<std::vector<GroupIndex>> levels_ EMPLACE_GUARDED_BY(mu_);
};

}  // namespace emplace
