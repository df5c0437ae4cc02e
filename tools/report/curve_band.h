// Turns the curves of several runs of one configuration into a mean curve with a band around it.
#pragma once

#include <cstddef>
#include <vector>

namespace emplace {

// A curve through points with ascending x. A point whose y is NaN is missing.
struct Curve {
  std::vector<double> x;
  std::vector<double> y;
};

struct CurveBand {
  std::vector<double> x;
  std::vector<double> mean;
  std::vector<double> low;   // Lowest value of the curves at x.
  std::vector<double> high;  // Highest value of the curves at x.
};

// Curves are straight lines between their points. The band covers the range of x that all curves cover, and has a point
// where any curve has one, but at most `most_points` points, which is at least 2. The band is empty when there is no
// such range, or when a curve has no points.
CurveBand BandOf(const std::vector<Curve>& curves, size_t most_points);

}  // namespace emplace
