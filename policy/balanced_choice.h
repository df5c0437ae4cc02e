// The greedy choice of a policy that puts all groups on devices at once.
//
// Where such a policy finds several devices as good for many groups, drawing spreads the groups over them. Taking the
// most likely device of each group by itself would put them all on one. So among devices that are about as likely as
// the best, the one is chosen that is furthest behind its share of the work so far: systematic sampling (Madow and
// Madow 1944) without the random start. A policy that is sure of its choices gets the most likely ones.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace emplace {

// Of one placement. Not thread-safe.
class BalancedChoice {
 public:
  explicit BalancedChoice(size_t num_devices) : owed_(num_devices), probability_(num_devices) {}

  // The device of the next group. logits: [devices], -infinity where the group may not go; work: of the group, from 0,
  // in the unit of the other groups. Throws BadInput as GreedyChoice does.
  size_t Next(std::span<const float> logits, double work);

 private:
  std::vector<double> owed_;         // [devices] work that a device was to have by now less the work that it has
  std::vector<double> probability_;  // [devices] scratch; over that of the most likely device
};

}  // namespace emplace
