#include "simulator/graph/acyclic_contraction.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "common/error.h"

namespace emplace {
namespace {

// Nodes that one search may see. Past it the merge is refused: rather a few heavier cuts than quadratic time.
constexpr size_t kSearchLimit = 256;

using Edges = std::span<const std::pair<int32_t, int32_t>>;

std::vector<std::pair<int32_t, int32_t>> Reversed(Edges edges) {
  std::vector<std::pair<int32_t, int32_t>> reversed;
  reversed.reserve(edges.size());
  for (const auto& [from, to] : edges) reversed.emplace_back(to, from);
  return reversed;
}

}  // namespace

AcyclicContraction::AcyclicContraction(int32_t nodes, Edges edges)
    : merged_into_(static_cast<size_t>(nodes)),
      successors_(nodes, edges),
      predecessors_(nodes, Reversed(edges)),
      position_(static_cast<size_t>(nodes)),
      node_at_(static_cast<size_t>(nodes)),
      seen_in_(static_cast<size_t>(nodes)) {
  EMPLACE_CHECK(std::ranges::all_of(edges, [](const auto& edge) { return edge.first < edge.second; }));
  std::iota(merged_into_.begin(), merged_into_.end(), 0);
  std::iota(position_.begin(), position_.end(), 0);
  std::iota(node_at_.begin(), node_at_.end(), 0);
}

int32_t AcyclicContraction::Find(int32_t node) const {
  auto at = static_cast<size_t>(node);
  while (merged_into_[at] != static_cast<int32_t>(at)) {
    merged_into_[at] = merged_into_[static_cast<size_t>(merged_into_[at])];
    at = static_cast<size_t>(merged_into_[at]);
  }
  return static_cast<int32_t>(at);
}

// All nodes reached from `start` over `next`, not over the edge to `skip`, at positions low < p < high. False: reached
// `skip` again, or too many.
bool AcyclicContraction::CollectBetween(int32_t start, const NeighbourLists& next, int32_t skip, int32_t low,
                                        int32_t high, std::vector<int32_t>& found) {
  ++search_;
  found.clear();
  const auto visit = [&](int32_t node) {
    const int32_t position = position_[static_cast<size_t>(node)];
    if (position <= low || position >= high || seen_in_[static_cast<size_t>(node)] == search_) return;
    seen_in_[static_cast<size_t>(node)] = search_;
    found.push_back(node);
  };
  for (const int32_t node : next.At(start)) {
    if (node != skip) visit(node);
    if (found.size() > kSearchLimit) return false;
  }
  for (size_t done = 0; done < found.size(); ++done) {
    if (found.size() > kSearchLimit) return false;
    for (const int32_t node : next.At(found[done])) {
      if (node == skip) return false;
      visit(node);
    }
  }
  return true;
}

bool AcyclicContraction::TryMergeAlong(int32_t from, int32_t to) {
  const int32_t low = position_[static_cast<size_t>(from)];
  const int32_t high = position_[static_cast<size_t>(to)];
  EMPLACE_CHECK(alive(from) && alive(to) && low < high);
  // What is reached from `from` must come after the merged node, and what reaches `to` before it.
  if (!CollectBetween(from, successors_, to, low, high, after_)) return false;
  if (after_.empty()) {
    // Nothing between them depends on `from`: the merged node stands where `to` stood.
    node_at_[static_cast<size_t>(low)] = -1;
    Join(from, to);
    const int32_t merged = Find(from);
    position_[static_cast<size_t>(merged)] = high;
    node_at_[static_cast<size_t>(high)] = merged;
    return true;
  }
  if (!CollectBetween(to, predecessors_, from, low, high, before_)) return false;

  const auto by_position = [&](int32_t a, int32_t b) {
    return position_[static_cast<size_t>(a)] < position_[static_cast<size_t>(b)];
  };
  std::sort(after_.begin(), after_.end(), by_position);
  std::sort(before_.begin(), before_.end(), by_position);
  std::vector<int32_t> positions = {low, high};
  for (const int32_t node : before_) positions.push_back(position_[static_cast<size_t>(node)]);
  for (const int32_t node : after_) positions.push_back(position_[static_cast<size_t>(node)]);
  std::sort(positions.begin(), positions.end());
  for (const int32_t position : positions) node_at_[static_cast<size_t>(position)] = -1;

  Join(from, to);
  size_t next = 0;  // One position more than needed: the last becomes a gap.
  const auto place = [&](int32_t node) {
    position_[static_cast<size_t>(node)] = positions[next];
    node_at_[static_cast<size_t>(positions[next])] = node;
    ++next;
  };
  for (const int32_t node : before_) place(node);
  place(Find(from));
  for (const int32_t node : after_) place(node);
  return true;
}

void AcyclicContraction::MergeNeighbours(int32_t first, int32_t second) {
  const int32_t low = position_[static_cast<size_t>(first)];
  const int32_t high = position_[static_cast<size_t>(second)];
  EMPLACE_CHECK(alive(first) && alive(second) && low < high);
  node_at_[static_cast<size_t>(high)] = -1;
  Join(first, second);
  const int32_t merged = Find(first);
  position_[static_cast<size_t>(merged)] = low;
  node_at_[static_cast<size_t>(low)] = merged;
}

void AcyclicContraction::MergeRuns(const std::vector<int32_t>& order, const std::vector<bool>& with_next) {
  for (size_t first = 0, last = 0; first < order.size(); first = last + 1) {
    for (last = first; with_next[last];) ++last;
    const int32_t position = position_[static_cast<size_t>(order[first])];
    const auto run = std::span(order).subspan(first, last + 1 - first);
    const int32_t kept = *std::ranges::min_element(run);
    for (const int32_t node : run) {
      merged_into_[static_cast<size_t>(node)] = kept;
      node_at_[static_cast<size_t>(position_[static_cast<size_t>(node)])] = -1;
    }
    position_[static_cast<size_t>(kept)] = position;
    node_at_[static_cast<size_t>(position)] = kept;
  }
  successors_ = Renamed(successors_, order);
  predecessors_ = Renamed(predecessors_, order);
}

NeighbourLists AcyclicContraction::Renamed(const NeighbourLists& lists, const std::vector<int32_t>& order) const {
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (const int32_t node : order) {
    const int32_t kept = Find(node);
    for (const int32_t neighbour : lists.At(node)) {
      if (Find(neighbour) != kept) pairs.emplace_back(kept, Find(neighbour));
    }
  }
  return {static_cast<int32_t>(merged_into_.size()), pairs};
}

void AcyclicContraction::Join(int32_t from, int32_t to) {
  const int32_t kept = std::min(from, to);
  const int32_t gone = std::max(from, to);
  merged_into_[static_cast<size_t>(gone)] = kept;
  for (auto* const lists : {&successors_, &predecessors_}) {
    auto& other_lists = lists == &successors_ ? predecessors_ : successors_;
    for (const int32_t neighbour : lists->At(gone)) {
      if (neighbour != kept) other_lists.Replace(neighbour, gone, kept);
    }
    joined_.clear();
    std::ranges::set_union(lists->At(kept), lists->At(gone), std::back_inserter(joined_));
    std::erase_if(joined_, [&](int32_t node) { return node == kept || node == gone; });
    lists->TakeRoom(kept, gone);
    lists->Set(kept, joined_);
  }
}

std::vector<int32_t> AcyclicContraction::Order() const {
  std::vector<int32_t> order;
  for (const int32_t node : node_at_) {
    if (node >= 0) order.push_back(node);
  }
  return order;
}

}  // namespace emplace
