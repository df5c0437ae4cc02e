#include "simulator/methods/search/moves/group_links.h"

#include <algorithm>
#include <span>

namespace emplace {
namespace {

// An op with more readers than this couples them loosely: only the first ones count as neighbours.
constexpr size_t kMostReaders = 64;

}  // namespace

std::vector<GroupLink> LinksBetween(const SimGraph& sim, const std::vector<GroupIndex>& group_of_op) {
  std::vector<GroupLink> links;
  for (size_t producer = 0; producer < group_of_op.size(); ++producer) {
    for (const int32_t tensor : sim.TensorsOf(static_cast<OpIndex>(producer))) {
      const auto bytes = static_cast<double>(sim.tensor_bytes[static_cast<size_t>(tensor)]);
      const std::span<const int32_t> readers = sim.tensor_consumers.Row(tensor);
      for (const OpIndex reader : readers.first(std::min(readers.size(), kMostReaders))) {
        const GroupIndex from = group_of_op[producer];
        const GroupIndex to = group_of_op[static_cast<size_t>(reader)];
        if (from == to) continue;
        links.push_back({from, to, bytes});
        links.push_back({to, from, bytes});
      }
    }
  }
  const auto by_pair = [](const GroupLink& a, const GroupLink& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  };
  std::sort(links.begin(), links.end(), by_pair);
  std::vector<GroupLink> summed;
  for (const GroupLink& link : links) {
    if (!summed.empty() && summed.back().from == link.from && summed.back().to == link.to) {
      summed.back().bytes += link.bytes;
    } else {
      summed.push_back(link);
    }
  }
  std::stable_sort(summed.begin(), summed.end(), [](const GroupLink& a, const GroupLink& b) {
    return a.from != b.from ? a.from < b.from : a.bytes > b.bytes;
  });
  return summed;
}

}  // namespace emplace
