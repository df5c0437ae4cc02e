#include "simulator/graph/neighbour_lists.h"

#include <algorithm>

#include "common/csr.h"
#include "common/error.h"

namespace emplace {

NeighbourLists::NeighbourLists(int32_t nodes, std::span<const std::pair<int32_t, int32_t>> pairs)
    : places_(static_cast<size_t>(nodes)) {
  Csr lists = CsrFromPairs(nodes, [&](auto visit) {
    for (const auto& [node, value] : pairs) visit(node, value);
  });
  items_ = std::move(lists.items);
  for (size_t node = 0; node < places_.size(); ++node) {
    const auto begin = items_.begin() + lists.begin[node];
    const auto end = items_.begin() + lists.begin[node + 1];
    std::sort(begin, end);
    places_[node] = {.begin = static_cast<size_t>(lists.begin[node]),
                     .size = static_cast<uint32_t>(std::unique(begin, end) - begin),
                     .room = static_cast<uint32_t>(end - begin)};
  }
}

void NeighbourLists::TakeRoom(int32_t node, int32_t other) {
  Place& place = places_[static_cast<size_t>(node)];
  Place& others = places_[static_cast<size_t>(other)];
  if (others.room > place.room) std::swap(place, others);
}

void NeighbourLists::Set(int32_t node, std::span<const int32_t> values) {
  Place& place = places_[static_cast<size_t>(node)];
  place.size = static_cast<uint32_t>(values.size());
  if (place.size > place.room) {
    place.begin = items_.size();
    place.room = 2 * place.size;
    items_.resize(items_.size() + place.room);
  }
  std::ranges::copy(values, items_.begin() + static_cast<std::ptrdiff_t>(place.begin));
}

void NeighbourLists::Replace(int32_t node, int32_t old_value, int32_t new_value) {
  Place& place = places_[static_cast<size_t>(node)];
  const auto begin = items_.begin() + static_cast<std::ptrdiff_t>(place.begin);
  const auto end = begin + place.size;
  const auto at = std::lower_bound(begin, end, old_value);
  EMPLACE_CHECK(at != end && *at == old_value && new_value < old_value);
  const auto to = std::lower_bound(begin, at, new_value);
  if (*to == new_value) {
    std::move(at + 1, end, at);
    --place.size;
  } else {
    std::move_backward(to, at, at + 1);
    *to = new_value;
  }
}

}  // namespace emplace
