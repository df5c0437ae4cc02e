#include "actor/hardware/search/shrunk_ratios.h"

#include <cmath>

namespace emplace {

void ShrunkRatios::Add(const RatioClass& of, double given_us, double measured) {
  if (!(given_us > 0) || !(measured > 0)) return;
  RatioClass wider;
  for (const std::string& name : of) {
    wider.push_back(name);
    Sums& sums = sums_[wider];
    ++sums.observations;
    sums.given_us += given_us;
    sums.measured += measured;
  }
}

double ShrunkRatios::Ratio(const RatioClass& of, double unit_us) const {
  double log_ratio = 0;
  RatioClass wider;
  for (const std::string& name : of) {
    wider.push_back(name);
    const auto found = sums_.find(wider);
    if (found == sums_.end()) break;
    const auto n = static_cast<double>(found->second.observations);
    const double observed = std::log(found->second.measured * unit_us / found->second.given_us);
    log_ratio = (n * observed + prior_weight_ * log_ratio) / (n + prior_weight_);
  }
  return std::exp(log_ratio);
}

}  // namespace emplace
