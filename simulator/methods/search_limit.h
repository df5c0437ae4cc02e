// When a search ends: after a number of evaluations, after a time, or when it is told to stop. It may go in rounds.
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

  // Shares and progress are from now on those of a round of so many evaluations or seconds, from now on; 0: any number.
  // It ends earlier where so many evaluations, or us, are left of the search.
  void BeginRound(int64_t evaluations, double seconds, int64_t left_evaluations, double left_us);
  double RoundSeconds() const { return round_.seconds; }
  // Whether no more of the search is left than what the round leaves.
  bool Ended() const { return Whole(0) >= 1; }

  void Count(int64_t evaluations) { evaluations_ += evaluations; }
  // Whether so many evaluations are left of the budget beside the last `kept`. Where they are not, the search ends:
  // else it would go on with what a larger budget comes to later.
  bool Affords(int64_t evaluations, int64_t kept);
  // Takes evaluations of the budget that nobody makes.
  void Forfeit(int64_t evaluations) { forfeited_ += evaluations; }
  int64_t evaluations() const { return evaluations_; }
  int64_t evaluations_left() const { return budget_ > 0 ? budget_ - Spent() : std::numeric_limits<int64_t>::max(); }
  double seconds() const;  // Since the start.
  bool stopped() const { return stop_.Asked(); }
  // Ends work at the end of the search. A budget does not: work is to be the same on every machine.
  StopSignal stop() const { return stop_.After(begin_, seconds_); }
  // Tells how many times as long as on the computer of the estimates in this folder work takes on this one.
  void SetPace(double pace) { pace_ = pace; }
  // Of the round, or without one of the search: the share that work takes which simulates so many placements, or, by
  // estimate, lasts so many us.
  double Share(int64_t evaluations, double us) const;
  // The number of evaluations that so large a share allows, each of about so many us.
  double Evaluations(double share, double us) const;
  // The share that is over when `more` further evaluations are made, from 0 on; 1 or more: it has ended.
  double Progress(int64_t more = 0) const;

 private:
  // Evaluations and seconds, 0: any number, from a point on.
  struct Extent {
    int64_t begin_evaluations = 0;
    double begin_seconds = 0;
    int64_t evaluations = 0;
    double seconds = 0;
  };

  int64_t Spent() const { return evaluations_ + forfeited_; }
  double PartOf(const Extent& extent, int64_t more) const;
  // The part of the search that is over.
  double Whole(int64_t more) const;

  int64_t budget_;
  double seconds_;
  StopSignal stop_;
  StopSignal::Clock::time_point begin_;
  int64_t evaluations_ = 0;
  int64_t forfeited_ = 0;
  double pace_ = 1;
  Extent search_;  // But for what is left of it.
  Extent round_;
};

}  // namespace emplace
