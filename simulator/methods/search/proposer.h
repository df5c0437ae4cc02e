// What a search asks of a learned policy. The policy lies above the search, so an implementation is handed in from
// there.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "simulator/graph/placement.h"
#include "simulator/methods/search/moves/move.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Used by one thread at a time.
class Proposer {
 public:
  virtual ~Proposer() = default;
  // The name under which a result that it proposed is reported, such as "policy".
  virtual std::string name() const = 0;
  // Moves that may improve `placement`, best first; each gives ops of `region` another device. An empty `region` stands
  // for the whole graph. An empty list: it proposes nothing for this task. Deterministic.
  virtual std::vector<Move> Candidates(const PlacementTask& task, std::span<const OpIndex> region,
                                       std::span<const DeviceIndex> placement) = 0;
};

}  // namespace emplace
