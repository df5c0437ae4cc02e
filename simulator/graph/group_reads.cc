#include "simulator/graph/group_reads.h"

#include <algorithm>
#include <utility>

namespace emplace {

GroupReads::GroupReads(const OpGraph& graph, const std::vector<GroupIndex>& group_of_op) {
  std::vector<std::pair<int32_t, GroupIndex>> reads;  // (output, group)
  for (OpIndex producer = 0; producer < graph.num_ops(); ++producer) {
    reads.clear();
    for (const auto& [reader, output] : graph.ReadsOf(producer)) {
      reads.emplace_back(output, group_of_op[static_cast<size_t>(reader)]);
    }
    std::ranges::sort(reads);
    for (size_t first = 0, last = 0; first < reads.size(); first = last) {
      const int32_t output = reads[first].first;
      const bool control = output == OpInput::kControl;
      const size_t begin = readers_.size();
      for (; last < reads.size() && reads[last].first == output; ++last) readers_.push_back(reads[last].second);
      tensors_.push_back({.from = group_of_op[static_cast<size_t>(producer)],
                          .bytes = control ? 0 : graph.op(producer).outputs[static_cast<size_t>(output)].bytes});
      Close(tensors_, readers_, begin);
    }
  }
}

void GroupReads::Close(std::vector<Tensor>& tensors, std::vector<GroupIndex>& readers, size_t begin) {
  Tensor& tensor = tensors.back();
  const auto first = readers.begin() + static_cast<std::ptrdiff_t>(begin);
  std::sort(first, readers.end());
  readers.erase(std::unique(first, readers.end()), readers.end());
  const auto own = std::lower_bound(first, readers.end(), tensor.from);
  if (own != readers.end() && *own == tensor.from) readers.erase(own);
  tensor.end = readers.size();
  if (tensor.end == begin) tensors.pop_back();
}

void GroupReads::Rename(const std::function<GroupIndex(GroupIndex)>& number) {
  std::vector<Tensor> tensors;
  std::vector<GroupIndex> readers;
  tensors.reserve(tensors_.size());
  readers.reserve(readers_.size());
  size_t next = 0;
  for (const Tensor& tensor : tensors_) {
    const size_t begin = readers.size();
    for (; next < tensor.end; ++next) readers.push_back(number(readers_[next]));
    tensors.push_back({.from = number(tensor.from), .bytes = tensor.bytes});
    Close(tensors, readers, begin);
  }
  tensors_ = std::move(tensors);
  readers_ = std::move(readers);
}

std::vector<GroupEdge> GroupReads::Edges() const {
  std::vector<GroupEdge> edges;
  edges.reserve(readers_.size());
  size_t next = 0;
  for (const Tensor& tensor : tensors_) {
    for (; next < tensor.end; ++next) edges.push_back({tensor.from, readers_[next], tensor.bytes});
  }
  std::ranges::sort(edges, {}, [](const GroupEdge& edge) { return std::pair(edge.from, edge.to); });
  size_t kept = 0;
  for (const GroupEdge& edge : edges) {
    if (kept > 0 && edges[kept - 1].from == edge.from && edges[kept - 1].to == edge.to) {
      edges[kept - 1].bytes += edge.bytes;
    } else {
      edges[kept++] = edge;
    }
  }
  edges.resize(kept);
  return edges;
}

}  // namespace emplace
