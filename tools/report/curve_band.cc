#include "tools/report/curve_band.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.h"
#include "common/sort_unique.h"

namespace emplace {
namespace {

Curve WithoutGaps(const Curve& curve) {
  EMPLACE_CHECK(curve.x.size() == curve.y.size());
  Curve kept;
  for (size_t i = 0; i < curve.x.size(); ++i) {
    if (std::isnan(curve.y[i])) continue;
    kept.x.push_back(curve.x[i]);
    kept.y.push_back(curve.y[i]);
  }
  return kept;
}

// REQUIRES: the curve covers x.
double At(const Curve& curve, double x) {
  const auto after = static_cast<size_t>(std::lower_bound(curve.x.begin(), curve.x.end(), x) - curve.x.begin());
  if (curve.x[after] == x) return curve.y[after];
  const double along = (x - curve.x[after - 1]) / (curve.x[after] - curve.x[after - 1]);
  return curve.y[after - 1] + along * (curve.y[after] - curve.y[after - 1]);
}

}  // namespace

CurveBand BandOf(const std::vector<Curve>& curves, size_t most_points) {
  EMPLACE_CHECK(most_points >= 2);
  std::vector<Curve> solid;
  double begin = -std::numeric_limits<double>::infinity();
  double end = std::numeric_limits<double>::infinity();
  for (const Curve& curve : curves) {
    solid.push_back(WithoutGaps(curve));
    if (solid.back().x.empty()) return {};
    begin = std::max(begin, solid.back().x.front());
    end = std::min(end, solid.back().x.back());
  }
  std::vector<double> grid;
  for (const Curve& curve : solid) {
    std::copy_if(curve.x.begin(), curve.x.end(), std::back_inserter(grid),
                 [&](double x) { return begin <= x && x <= end; });
  }
  SortUnique(grid);

  CurveBand band;
  const size_t points = std::min(most_points, grid.size());
  for (size_t p = 0; p < points; ++p) {
    // The first and the last are always among them.
    const double x = points == 1 ? grid[0] : grid[p * (grid.size() - 1) / (points - 1)];
    double sum = 0;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const Curve& curve : solid) {
      const double y = At(curve, x);
      sum += y;
      low = std::min(low, y);
      high = std::max(high, y);
    }
    band.x.push_back(x);
    band.mean.push_back(sum / static_cast<double>(solid.size()));
    band.low.push_back(low);
    band.high.push_back(high);
  }
  return band;
}

}  // namespace emplace
