// What the groups into which the ops of a graph are divided read of each other, while groups are merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/ids.h"
#include "simulator/graph/op_graph.h"

namespace emplace {

// That a group reads another one.
struct GroupEdge {
  GroupIndex from = 0;
  GroupIndex to = 0;
  int64_t bytes = 0;  // Sum over distinct tensors; a tensor with several readers in `to` counts once.
};

class GroupReads {
 public:
  GroupReads(const OpGraph& graph, const std::vector<GroupIndex>& group_of_op);  // group_of_op: [num_ops]

  // Gives each group the number that `number` has for it; groups of one number are one from now on.
  void Rename(const std::function<GroupIndex(GroupIndex)>& number);
  // In both directions, by (from, to).
  std::vector<GroupEdge> Edges() const;

 private:
  struct Tensor {
    GroupIndex from = 0;
    int64_t bytes = 0;  // 0 for ops that only wait for each other.
    size_t end = 0;     // Of its readers, which begin where those of the tensor before end.
  };

  // Ends the last tensor, whose readers begin at `begin`: ascending, no repeats, without the group that makes it. A
  // tensor without any goes.
  static void Close(std::vector<Tensor>& tensors, std::vector<GroupIndex>& readers, size_t begin);

  std::vector<Tensor> tensors_;
  std::vector<GroupIndex> readers_;
};

}  // namespace emplace
