// Lists of numbers, one for each node of a graph, that grow and shrink in one array: graphs have many short ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

// Not thread-safe. What At() returns holds until the next call that is not const.
class NeighbourLists {
 public:
  // The list of each node: the second numbers of the pairs whose first is the node, ascending, no repeats.
  // REQUIRES: every first number is in [0, nodes).
  NeighbourLists(int32_t nodes, std::span<const std::pair<int32_t, int32_t>> pairs);

  std::span<const int32_t> At(int32_t node) const {
    const Place& place = places_[static_cast<size_t>(node)];
    return std::span(items_).subspan(place.begin, place.size);
  }
  // REQUIRES: values are ascending, and not of these lists.
  void Set(int32_t node, std::span<const int32_t> values);
  // Gives a node the other one's room if that is larger, for a list that is set next. The other's list is lost.
  void TakeRoom(int32_t node, int32_t other);
  // Puts a lower value in the place of one that is there, or drops that if the list has the lower one already.
  void Replace(int32_t node, int32_t old_value, int32_t new_value);

 private:
  struct Place {
    size_t begin = 0;
    uint32_t size = 0;
    uint32_t room = 0;
  };

  std::vector<Place> places_;   // [nodes]
  std::vector<int32_t> items_;  // A list that has outgrown its room is moved to the end, with room for twice as many.
};

}  // namespace emplace
