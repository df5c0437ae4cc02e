// Steps of several micro-batches, for examples worked out by hand.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/strings.h"
#include "tests/simulator/methods/hand_tasks.h"

namespace emplace {

// The ops `shared`, and then those `of_each` once for each micro-batch: their inputs are numbered as if they followed
// `shared`.
inline PlacementTask MicrobatchTask(const std::vector<Op>& shared, const std::vector<Op>& of_each, int32_t microbatches,
                                    const Cluster& cluster) {
  std::vector<Op> ops = shared;
  const auto num_shared = static_cast<OpIndex>(shared.size());
  std::vector<int32_t> microbatch_of_op(shared.size(), -1);
  for (int32_t m = 0; m < microbatches; ++m) {
    const auto shift = m * static_cast<OpIndex>(of_each.size());
    for (Op op : of_each) {
      if (m > 0) op.copy_of = static_cast<OpIndex>(ops.size()) - shift;
      op.name = StrCat(op.name, "/", m);
      for (OpInput& input : op.inputs) input.producer += input.producer < num_shared ? 0 : shift;
      ops.push_back(std::move(op));
      microbatch_of_op.push_back(m);
    }
  }
  PlacementTask task = HandTask(ops, cluster);
  task.microbatch_of_op = std::move(microbatch_of_op);
  return task;
}

}  // namespace emplace
