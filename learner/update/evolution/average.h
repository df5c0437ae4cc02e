// The average over the vectors of a sequence in which late ones count more: polynomial-decay averaging (Shamir and
// Zhang 2013, "Stochastic Gradient Descent for Non-smooth Optimization", section 4). What evolution finds wanders about
// the optimum by as much as generations of so few problems cannot tell apart; its average does not.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

class Average {
 public:
  // With power p, vector t of the sequence counts about as t^p: with 0 all count the same. start: the average as long
  // as there is no vector. REQUIRES: p >= 0.
  Average(std::vector<double> start, double power) : values_(std::move(start)), power_(power) {}

  // The next vector. REQUIRES: it is as long as the others.
  void Add(std::span<const double> vector) {
    ++count_;
    const double share = (power_ + 1) / (static_cast<double>(count_) + power_);
    for (size_t i = 0; i < values_.size(); ++i) values_[i] += share * (vector[i] - values_[i]);
  }

  const std::vector<double>& values() const { return values_; }
  int64_t count() const { return count_; }  // Of vectors.
  // As it was with these numbers. REQUIRES: values are as many as before, count >= 0.
  void Restore(std::vector<double> values, int64_t count) {
    values_ = std::move(values);
    count_ = count;
  }

 private:
  std::vector<double> values_;
  const double power_;
  int64_t count_ = 0;
};

}  // namespace emplace
