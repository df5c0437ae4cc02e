// 95% confidence intervals of means, by Student's t.
#pragma once

#include <span>

namespace emplace {

// low = high = mean where there is one value only; NaN: nothing to average.
struct Interval {
  double mean = 0;
  double low = 0;
  double high = 0;
};
Interval MeanWithInterval(std::span<const double> values);

// Of mean(a) - mean(b), the two drawn independently, their variances unlike (Welch, Biometrika 34, 1947).
// REQUIRES: two values at least in each.
Interval DifferenceOfMeans(std::span<const double> a, std::span<const double> b);

}  // namespace emplace
