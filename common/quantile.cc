#include "common/quantile.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/error.h"

namespace emplace {

double Quantile(std::vector<double> samples, double share) {
  EMPLACE_CHECK(!samples.empty() && share >= 0 && share <= 1);
  std::sort(samples.begin(), samples.end());
  const double position = share * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, samples.size() - 1);
  return std::lerp(samples[below], samples[above], position - static_cast<double>(below));
}

double Median(std::vector<double> samples) {
  EMPLACE_CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : std::midpoint(samples[middle - 1], samples[middle]);
}

}  // namespace emplace
