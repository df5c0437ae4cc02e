#include "simulator/methods/search/pass.h"

#include <cmath>

namespace emplace {
namespace {

// The finest level from `finest` on that has at most so many movable groups; at worst the one next to `coarser`.
size_t FinestThatPays(const SearchSpace& space, size_t finest, size_t coarser, double evaluations) {
  while (finest + 1 < coarser && static_cast<double>(space.levels()[finest].movable.size()) > evaluations) ++finest;
  return finest;
}

}  // namespace

void RunPass(Walk& walk, const SearchSpace& space, const SearchLimit& limit, const SearchPass& pass) {
  const double begin = limit.Progress();
  const int64_t evaluations = limit.evaluations();
  size_t finest = pass.finest;
  double hot = pass.hot;
  for (size_t level = space.levels().size() - 1;; --level) {
    const double part = 1 / static_cast<double>(level - finest + 1);  // Of what is left of the pass.
    const double at = limit.Progress();
    const double cold = hot * std::pow(pass.cold / hot, part);
    walk.ReturnToBest();
    walk.Run({.level = level, .mix = pass.mix, .hot = hot, .cold = cold, .until = at + part * (pass.until - at)});
    hot = cold;
    const double now = limit.Progress();
    if (level == finest || now >= pass.until) return;
    if (!pass.only_levels_that_pay) continue;
    const auto done = static_cast<double>(limit.evaluations() - evaluations);
    finest = FinestThatPays(space, finest, level, done * (pass.until - now) / (now - begin));
  }
}

}  // namespace emplace
