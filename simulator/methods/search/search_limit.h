// When a search ends: after a number of evaluations, after a time, or when it is told to stop.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "common/threads/stop.h"

namespace emplace {

// A search that is limited by evaluations alone does the same on every machine. Not thread-safe.
class SearchLimit {
 public:
  // budget: most evaluations, 0: any number. seconds: most time from `begin` on, 0: any time. begin: nullopt: now.
  // stop: ends the search earlier. REQUIRES: budget or seconds is above 0.
  SearchLimit(int64_t budget, double seconds, const StopSignal& stop,
              const std::optional<StopSignal::Clock::time_point>& begin = std::nullopt);

  void Count(int64_t evaluations) { evaluations_ += evaluations; }
  int64_t evaluations() const { return evaluations_; }
  int64_t evaluations_left() const {
    return budget_ > 0 ? budget_ - evaluations_ : std::numeric_limits<int64_t>::max();
  }
  double seconds() const;  // Since the start.
  bool stopped() const { return stop_.Asked(); }
  // Ends work at the end of the search. A budget does not: work is to be the same on every machine.
  StopSignal stop() const { return stop_.After(begin_, seconds_); }
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
  StopSignal stop_;
  StopSignal::Clock::time_point begin_;
  int64_t evaluations_ = 0;
  double pace_ = 1;
};

}  // namespace emplace
