// 95% confidence intervals of means, by Student's t.
#pragma once

#include <span>

namespace emplace {

// A mean with the ends of its 95% confidence interval. With one value, low = high = mean; with none, all are NaN.
struct Interval {
  double mean = 0;
  double low = 0;
  double high = 0;
};
Interval MeanWithInterval(std::span<const double> values);

// The interval of mean(a) - mean(b) for independent samples of unequal variance (Welch, Biometrika 34, 1947).
// REQUIRES: each sample has at least two values.
Interval DifferenceOfMeans(std::span<const double> a, std::span<const double> b);

}  // namespace emplace
