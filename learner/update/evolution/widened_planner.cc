#include "learner/update/evolution/widened_planner.h"

#include <algorithm>
#include <vector>

#include "policy/gaussian.h"

namespace emplace {

PolicyWeights WidenedPlanner(const PolicyWeights& initial, const PolicyWeights& fresh, double share, double factor) {
  const Gaussian from(initial);
  const Gaussian to(fresh);
  const size_t known = from.mean.size();
  const size_t learned = to.mean.size();
  const size_t n = std::max(learned, known);
  PolicyWeights widened = known > learned ? initial : fresh;
  widened.version = 0;
  widened.shape.sizes[kComplements] = 0;
  widened.values.assign(n + n * n, 0.0F);
  std::ranges::copy(to.mean, widened.values.begin());
  for (size_t i = 0; i < known; ++i)
    widened.values[i] = i < learned ? static_cast<float>(share) * from.mean[i] : from.mean[i];
  for (size_t row = 0; row < learned; ++row) {
    for (size_t column = 0; column < learned; ++column) {
      const bool both = row < known && column < known;
      widened.values[n + row * n + column] =
          both ? static_cast<float>(factor) * from.spread[row * known + column] : to.spread[row * learned + column];
    }
  }
  return widened;
}

}  // namespace emplace
