#include "simulator/instances/draws.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace emplace {
namespace {

constexpr int kPowerBits = 24;  // Of the exponent's fraction.
constexpr double kE = 2.718281828459045;
constexpr int32_t kOpsOfMicrobatch = 24;  // A graph has at least so many for each micro-batch.

}  // namespace

double Power(double base, double exponent) {
  if (exponent < 0) return 1 / Power(base, -exponent);
  const double whole = std::floor(exponent);
  double result = 1;
  for (double i = 0; i < whole; ++i) result *= base;
  double fraction = exponent - whole;
  double root = base;
  for (int bit = 0; bit < kPowerBits && fraction > 0; ++bit) {
    root = std::sqrt(root);
    fraction *= 2;
    if (fraction < 1) continue;
    fraction -= 1;
    result *= root;
  }
  return result;
}

double LogUniform(Rng& rng, double low, double high) { return low * Power(high / low, rng.Uniform()); }

int64_t LogUniformInt(Rng& rng, int64_t low, int64_t high) {
  const double draw = LogUniform(rng, static_cast<double>(low), static_cast<double>(high + 1));
  return std::clamp(static_cast<int64_t>(draw), low, high);
}

double LogNormal(Rng& rng, double sigma) {
  constexpr int kSummed = 12;  // Uniform numbers, whose variances are a twelfth each.
  constexpr double kMean = 6;
  double sum = 0;
  for (int i = 0; i < kSummed; ++i) sum += rng.Uniform();
  return Power(kE, sigma * (sum - kMean));
}

bool Chance(Rng& rng, double probability) { return rng.Uniform() < probability; }

int32_t DrawMicrobatches(Rng& rng, int32_t ops) {
  if (Chance(rng, 0.5)) return 1;
  constexpr std::array<int32_t, 5> kCounts = {2, 3, 4, 6, 8};
  const int32_t count = OneOf(rng, kCounts);
  return std::clamp(ops / kOpsOfMicrobatch, 1, count);
}

}  // namespace emplace
