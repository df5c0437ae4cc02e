// Quantiles and the median of a sample.
#pragma once

#include <vector>

namespace emplace {

// The quantile at `share`, linear between the two nearest samples. REQUIRES: samples are not empty, 0 <= share <= 1.
double Quantile(std::vector<double> samples, double share);

// The middle one of the samples; for an even number, the mean of the middle two. REQUIRES: samples are not empty.
double Median(std::vector<double> samples);

}  // namespace emplace
