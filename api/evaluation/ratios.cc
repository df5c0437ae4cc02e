#include "api/evaluation/ratios.h"

#include <cmath>
#include <vector>

namespace emplace {

void RatiosBySeed::Add(uint64_t seed, double ratio) {
  if (!std::isfinite(ratio) || ratio <= 0) return;
  Logs& logs = of_seed_[seed];
  logs.sum += std::log(ratio);
  ++logs.count;
}

Interval RatiosBySeed::Mean() const {
  std::vector<double> means;
  for (const auto& [seed, logs] : of_seed_) means.push_back(std::exp(logs.sum / static_cast<double>(logs.count)));
  return MeanWithInterval(means);
}

}  // namespace emplace
