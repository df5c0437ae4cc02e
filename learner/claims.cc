#include "learner/claims.h"

#include <algorithm>
#include <utility>

namespace emplace {
namespace {

constexpr size_t kMostClaims = 4;

}  // namespace

std::vector<size_t> ClaimsBelow(double bound, size_t first, const Trajectory& trajectory) {
  std::vector<size_t> claims;
  for (size_t point = first; point < trajectory.rho.size(); ++point) {
    const bool moved = point <= first || trajectory.actions[point - 1] != trajectory.start_placement[point - 1];
    if (moved && trajectory.rho[point] < static_cast<float>(bound)) claims.push_back(point);
  }
  const size_t kept = std::min(claims.size(), kMostClaims);
  std::partial_sort(
      claims.begin(), claims.begin() + static_cast<std::ptrdiff_t>(kept), claims.end(),
      [&](size_t a, size_t b) { return std::pair(trajectory.rho[a], b) < std::pair(trajectory.rho[b], a); });
  claims.resize(kept);
  return claims;
}

}  // namespace emplace
