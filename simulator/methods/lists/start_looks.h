// How often a list schedule may look at when ready ops can start, so that it takes time in proportion to the graph.
//
// Of all ready ops the one that can start first is placed next, and each placement may delay all others. To look at
// all of them again each time takes time in the square of a graph's width: an op with 100,000 readers makes 100,000
// ops ready at once. So looks are counted. As long as there are some left, a schedule is exact. After that it places
// the best of those that seemed to start first when they were looked at last.
#pragma once

#include <cstdint>

#include "common/ids.h"
#include "simulator/methods/lists/list_schedule.h"

namespace emplace {

// An op where it could start first, as far as it is known.
struct PossibleStart {
  double us = 0;
  OpIndex op = -1;
  DeviceIndex device = -1;

  auto operator<=>(const PossibleStart&) const = default;
};

class StartLooks {
 public:
  // REQUIRES: graph outlives it.
  explicit StartLooks(const ScheduleGraph& graph) : graph_(graph) {}

  // An op is placed next, which allows for more looks.
  void Earn(OpIndex op) { left_ += kEach * CostOf(op); }
  void Spend(OpIndex op) { left_ -= CostOf(op); }
  bool any_left() const { return left_ > 0; }

 private:
  static constexpr int64_t kEach = 8;
  static constexpr int64_t kFree = 1 << 22;  // More than most graphs of some thousand ops need.

  // Looking at an op reads its inputs.
  int64_t CostOf(OpIndex op) const { return 1 + std::ssize(graph_.InputsOf(op)); }

  const ScheduleGraph& graph_;
  int64_t left_ = kFree;
};

}  // namespace emplace
