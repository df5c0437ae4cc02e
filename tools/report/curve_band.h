// Several runs of one configuration as one curve with a band around it.
#pragma once

#include <cstddef>
#include <vector>

namespace emplace {

// x ascends; a NaN y is a point that is not there.
struct Curve {
  std::vector<double> x;
  std::vector<double> y;
};

struct CurveBand {
  std::vector<double> x;
  std::vector<double> mean;
  std::vector<double> low;  // Least and greatest of the curves at x.
  std::vector<double> high;
};

// Between their points curves are straight lines. The band covers the x that all of them cover, and has a point
// wherever one of them has, but at most `most_points` >= 2; it is empty when they have no x in common, or one has no
// points.
CurveBand BandOf(const std::vector<Curve>& curves, size_t most_points);

}  // namespace emplace
