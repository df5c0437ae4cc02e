// The greedy choice of a policy that decides all groups at once: the device of each, or the bin (hierarchical/bins.h).
//
// Where such a policy finds several devices as good for many groups, drawing spreads the groups over them. Taking the
// most likely device of each group by itself would put them all on one. So among devices that are about as likely as
// the best, the one is chosen that is furthest behind its share of the work so far: systematic sampling (Madow and
// Madow 1944) without the random start. A policy that is sure of its choices gets the most likely ones. With bins for
// devices all of this is so as well.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace emplace {

// Of one placement. Not thread-safe.
class BalancedChoice {
 public:
  explicit BalancedChoice(size_t num_choices) : owed_(num_choices), probability_(num_choices) {}

  // That of the next group. logits: [choices], -infinity where the group may not go; work: of the group, from 0, in the
  // unit of the other groups. Throws BadInput as GreedyChoice does.
  size_t Next(std::span<const float> logits, double work);

 private:
  std::vector<double> owed_;         // [choices] work that a choice was to have by now less the work that it has
  std::vector<double> probability_;  // [choices] scratch; over that of the most likely device
};

}  // namespace emplace
