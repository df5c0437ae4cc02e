#include "common/interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "common/error.h"

namespace emplace {
namespace {

// Student's t for 95%, two-sided, by degrees of freedom from 1 on; beyond, the normal distribution's is near enough.
constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                               2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                               2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
constexpr double kNormal = 1.96;

// freedom: 1 or more; a broken number is rounded down, which makes the interval wider rather than narrower.
double Student(double freedom) {
  const auto row = static_cast<size_t>(std::max(1.0, freedom));
  return row <= std::size(kStudent) ? kStudent[row - 1] : kNormal;
}

struct Moments {
  double mean = 0;
  double of_mean = 0;  // Variance of the mean.
};

Moments MomentsOf(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  Moments moments;
  for (const double value : values) moments.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - moments.mean) * (value - moments.mean);
  if (values.size() > 1) moments.of_mean = squares / (n - 1) / n;
  return moments;
}

}  // namespace

Interval MeanWithInterval(std::span<const double> values) {
  if (values.empty()) return {std::nan(""), std::nan(""), std::nan("")};
  const Moments moments = MomentsOf(values);
  if (values.size() == 1) return {moments.mean, moments.mean, moments.mean};
  const double half = Student(static_cast<double>(values.size() - 1)) * std::sqrt(moments.of_mean);
  return {moments.mean, moments.mean - half, moments.mean + half};
}

Interval DifferenceOfMeans(std::span<const double> a, std::span<const double> b) {
  EMPLACE_CHECK(a.size() > 1 && b.size() > 1);
  const Moments of_a = MomentsOf(a);
  const Moments of_b = MomentsOf(b);
  const double mean = of_a.mean - of_b.mean;
  const double variance = of_a.of_mean + of_b.of_mean;
  if (variance == 0) return {mean, mean, mean};
  const auto share = [](const Moments& moments, size_t n) {
    return moments.of_mean * moments.of_mean / static_cast<double>(n - 1);
  };
  const double freedom = variance * variance / (share(of_a, a.size()) + share(of_b, b.size()));
  const double half = Student(freedom) * std::sqrt(variance);
  return {mean, mean - half, mean + half};
}

}  // namespace emplace
