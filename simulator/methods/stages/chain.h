// Finds the blocks of a graph that is a chain of them, such as the layers of a network: between two blocks no more
// than one tensor passes on, so that a step which does not fit one device is best divided there. In a step of
// micro-batches one of each passes on, and one of each may come back: a gradient, to ops that have to be together with
// those of its layer's forward pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/methods/placement_method.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct ChainBlocks {
  std::vector<int32_t> block_of_op;  // [n] from 0 on, in the order in which blocks run
  int32_t num_blocks = 0;
};

// The blocks between the places where one tensor passes on and that divide no ops which have to be together; where
// there are more than `most_blocks`, neighbours are joined to blocks of about equal time. nullopt: there are none.
// REQUIRES: task has levels.
std::optional<ChainBlocks> ChainOf(const PlacementTask& task, int32_t most_blocks);

// Divides a chain into stages as StagesMethod does, with devices in any order, so that the step is as short as
// possible. No placement where the graph is no chain.
class ChainMethod : public PlacementMethod {
 public:
  explicit ChainMethod(const MethodOptions& options) : options_(options) {}
  MethodResult Place(const PlacementTask& task) override;

 private:
  const MethodOptions options_;
};

}  // namespace emplace
