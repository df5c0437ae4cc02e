// The mean over graphs of how a method compares with one device: what `evaluate` prints and a report shows.
#pragma once

#include <cstdint>
#include <map>

#include "common/interval.h"

namespace emplace {

class RatiosBySeed {
 public:
  // Of a run: what is to be minimized / the same of the best single device. One that is not finite or not above 0 is
  // left out.
  void Add(uint64_t seed, double ratio);

  // Over seeds, of the geometric mean over a seed's runs.
  Interval Mean() const;

 private:
  struct Logs {
    double sum = 0;
    int64_t count = 0;
  };

  std::map<uint64_t, Logs> of_seed_;
};

}  // namespace emplace
