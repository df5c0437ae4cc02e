#include "simulator/graph/unit_order.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "common/csr.h"
#include "common/error.h"

namespace emplace {
namespace {

// Strongly connected components by Tarjan's algorithm ("Depth-first search and linear graph algorithms", 1972), with a
// stack of its own, because graphs are deeper than the program's stack.
class Components {
 public:
  explicit Components(const Csr& next)
      : next_(next), found_(next.begin.size() - 1, -1), lowest_(found_.size()), of_(found_.size(), -1) {
    for (size_t unit = 0; unit < found_.size(); ++unit) {
      if (found_[unit] < 0) Search(static_cast<int32_t>(unit));
    }
  }

  std::vector<int32_t> TakeComponents() { return std::move(of_); }  // [units] of each unit

 private:
  struct Visit {
    int32_t unit;
    size_t next_successor = 0;
  };

  void Enter(int32_t unit) {
    found_[static_cast<size_t>(unit)] = lowest_[static_cast<size_t>(unit)] = count_++;
    open_.push_back(unit);
    visits_.push_back({unit});
  }

  void Search(int32_t root) {
    Enter(root);
    while (!visits_.empty()) {
      const int32_t unit = visits_.back().unit;
      const std::span<const int32_t> successors = next_.Row(unit);
      if (visits_.back().next_successor < successors.size()) {
        const int32_t to = successors[visits_.back().next_successor++];
        if (found_[static_cast<size_t>(to)] < 0) {
          Enter(to);
        } else if (of_[static_cast<size_t>(to)] < 0) {
          Lower(unit, found_[static_cast<size_t>(to)]);
        }
        continue;
      }
      visits_.pop_back();
      if (!visits_.empty()) Lower(visits_.back().unit, lowest_[static_cast<size_t>(unit)]);
      if (lowest_[static_cast<size_t>(unit)] == found_[static_cast<size_t>(unit)]) Close(unit);
    }
  }

  void Lower(int32_t unit, int32_t to) {
    int32_t& lowest = lowest_[static_cast<size_t>(unit)];
    lowest = std::min(lowest, to);
  }

  void Close(int32_t root) {
    int32_t unit = -1;
    do {
      unit = open_.back();
      open_.pop_back();
      of_[static_cast<size_t>(unit)] = root;
    } while (unit != root);
  }

  const Csr& next_;
  std::vector<int32_t> found_;   // [units] in which order the search found the unit; -1: not yet
  std::vector<int32_t> lowest_;  // [units] the first found unit that the unit is known to reach
  std::vector<int32_t> of_;      // [units] a member that stands for the component; -1: not complete
  std::vector<int32_t> open_;    // Units whose component is not complete.
  std::vector<Visit> visits_;
  int32_t count_ = 0;
};

}  // namespace

std::vector<int32_t> OrderUnits(int32_t units, std::span<const UnitEdge> edges) {
  const Csr next = CsrFromPairs(units, [&](auto visit) {
    for (const auto& [from, to] : edges) visit(from, to);
  });
  const std::vector<int32_t> component = Components(next).TakeComponents();
  const auto counts = [&](int32_t from, int32_t to) {
    return from < to || component[static_cast<size_t>(from)] != component[static_cast<size_t>(to)];
  };
  std::vector<int32_t> missing(static_cast<size_t>(units));
  for (const auto& [from, to] : edges) missing[static_cast<size_t>(to)] += static_cast<int32_t>(counts(from, to));
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (int32_t unit = 0; unit < units; ++unit) {
    if (missing[static_cast<size_t>(unit)] == 0) ready.push(unit);
  }
  std::vector<int32_t> place(static_cast<size_t>(units), -1);
  int32_t placed = 0;
  while (!ready.empty()) {
    const int32_t unit = ready.top();
    ready.pop();
    place[static_cast<size_t>(unit)] = placed++;
    for (const int32_t to : next.Row(unit)) {
      if (counts(unit, to) && --missing[static_cast<size_t>(to)] == 0) ready.push(to);
    }
  }
  EMPLACE_CHECK(placed == units);
  return place;
}

}  // namespace emplace
