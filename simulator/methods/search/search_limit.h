// When a search ends: after a number of evaluations, after a time, or when it is told to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace emplace {

// A search that is limited by evaluations alone does the same on every machine. Not thread-safe.
class SearchLimit {
 public:
  // budget: most evaluations, 0: any number. seconds: most time from now on, 0: any time. stop: ends the search when it
  // gets true; may be null. REQUIRES: budget or seconds is above 0, and stop outlives the limit.
  SearchLimit(int64_t budget, double seconds, const std::atomic<bool>* stop);

  void Count(int64_t evaluations) { evaluations_ += evaluations; }
  int64_t evaluations() const { return evaluations_; }
  int64_t evaluations_left() const {
    return budget_ > 0 ? budget_ - evaluations_ : std::numeric_limits<int64_t>::max();
  }
  double seconds() const;  // Since the start.
  bool stopped() const { return stop_ != nullptr && *stop_; }
  // Tells how many times as long as on the computer of the estimates in this folder work takes on this one.
  void SetPace(double pace) { pace_ = pace; }
  // The share of the search that work takes which simulates so many placements, or, by estimate, lasts so many us.
  double Share(int64_t evaluations, double us) const;
  // The number of evaluations that so large a share of the search allows, each of about so many us.
  double Evaluations(double share, double us) const;
  // The share of the search that is over when `more` further evaluations are made, from 0 on; 1 or more: it has ended.
  double Progress(int64_t more = 0) const;

 private:
  int64_t budget_;
  double seconds_;
  const std::atomic<bool>* stop_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int64_t evaluations_ = 0;
  double pace_ = 1;
};

}  // namespace emplace
