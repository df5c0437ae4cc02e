// A pass of a search: a walk that goes from coarse groups to fine ones while it cools down.
#pragma once

#include "simulator/methods/search/moves/search_space.h"
#include "simulator/methods/search/walk.h"
#include "simulator/methods/search_limit.h"

namespace emplace {

// Temperatures are shares of the makespan. They fall geometrically over the pass.
struct SearchPass {
  size_t finest = 0;  // Level of the space at which the pass ends.
  MoveMix mix;
  double hot = 0;
  double cold = 0;
  double until = 1;  // Progress of the search at which the pass ends.
  // Whether to leave out fine levels that have more movable groups than evaluations are left, by the number that the
  // coarser levels have made so far: few of their groups would be tried at all.
  bool only_levels_that_pay = false;
};

// Each level begins from the best placement so far, and has an equal part of the pass.
void RunPass(Walk& walk, const SearchSpace& space, const SearchLimit& limit, const SearchPass& pass);

}  // namespace emplace
