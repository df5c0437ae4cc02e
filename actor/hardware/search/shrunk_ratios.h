// Ratios of measured to given times by class, where a class may lie in a wider one: the multiplications of one shape in
// all multiplications in all ops of a kind of device. A class that was observed little has about the ratio of the wider
// class, and the widest one about 1.
//
// Of a class with n observations whose measured times add up to m, and the given ones to g, the ratio is
//
//   exp((n log(m / g) + w log(ratio of the wider class)) / (n + w))        w = prior_weight
//
// a mean in logarithms, in which the wider class counts as so many observations.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emplace {

// The names of the classes that something belongs to, the widest first.
using RatioClass = std::vector<std::string>;

// Not thread-safe.
class ShrunkRatios {
 public:
  explicit ShrunkRatios(double prior_weight) : prior_weight_(prior_weight) {}

  // An observation counts for the class and all wider ones. Without a time above 0 on both sides it says nothing.
  // measured: the measured time in a unit that Ratio is told.
  void Add(const RatioClass& of, double given_us, double measured);
  // Above 0. 1 where nothing was observed, not even in the widest class. unit_us: of all measured times, in us.
  double Ratio(const RatioClass& of, double unit_us = 1) const;

 private:
  struct Sums {
    int64_t observations = 0;
    double given_us = 0;
    double measured = 0;
  };

  double prior_weight_;
  std::map<RatioClass, Sums> sums_;
};

}  // namespace emplace
