#include "simulator/methods/search/pass.h"

#include <cmath>

namespace emplace {

void RunPass(Walk& walk, const SearchSpace& space, const SearchLimit& limit, const SearchPass& pass) {
  const double begin = limit.Progress();
  const size_t levels = space.levels().size() - pass.finest;
  for (size_t step = 0; step < levels; ++step) {
    const double from = static_cast<double>(step) / static_cast<double>(levels);
    const double to = static_cast<double>(step + 1) / static_cast<double>(levels);
    walk.ReturnToBest();
    walk.Run({.level = space.levels().size() - 1 - step,
              .mix = pass.mix,
              .hot = pass.hot * std::pow(pass.cold / pass.hot, from),
              .cold = pass.hot * std::pow(pass.cold / pass.hot, to),
              .until = begin + to * (pass.until - begin)});
  }
}

}  // namespace emplace
