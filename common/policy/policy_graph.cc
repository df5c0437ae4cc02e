#include "common/policy/policy_graph.h"

namespace emplace {

void PolicyGraph::DeriveFromParents() {
  const auto n = static_cast<size_t>(num_nodes);
  // Children: count, then place; parents ascend, so children do too.
  children.begin.assign(n + 1, 0);
  for (const int32_t parent : parents.items) ++children.begin[static_cast<size_t>(parent) + 1];
  for (size_t i = 0; i < n; ++i) children.begin[i + 1] += children.begin[i];
  children.items.resize(parents.items.size());
  std::vector<int32_t> next(children.begin.begin(), children.begin.end() - 1);
  for (int32_t node = 0; node < num_nodes; ++node) {
    for (const int32_t parent : parents.Row(node)) {
      children.items[static_cast<size_t>(next[static_cast<size_t>(parent)]++)] = node;
    }
  }

  // Nodes are in topological order, so one pass each way closes the relation.
  const auto row_words = static_cast<size_t>(words());
  ancestors.assign(n * row_words, 0);
  descendants.assign(n * row_words, 0);
  const auto absorb = [&](std::vector<uint64_t>& rows, int32_t into, int32_t from) {
    const auto target = static_cast<size_t>(into) * row_words;
    const auto source = static_cast<size_t>(from) * row_words;
    for (size_t word = 0; word < row_words; ++word) rows[target + word] |= rows[source + word];
    rows[target + static_cast<size_t>(from) / 64] |= uint64_t{1} << (from % 64);
  };
  for (int32_t node = 0; node < num_nodes; ++node) {
    for (const int32_t parent : parents.Row(node)) absorb(ancestors, node, parent);
  }
  for (int32_t node = num_nodes - 1; node >= 0; --node) {
    for (const int32_t child : children.Row(node)) absorb(descendants, node, child);
  }
}

}  // namespace emplace
