// Quantiles of a sample.
#pragma once

#include <vector>

namespace emplace {

// The quantile at `share`, linear between the two nearest samples. REQUIRES: samples are not empty, 0 <= share <= 1.
double Quantile(std::vector<double> samples, double share);

}  // namespace emplace
