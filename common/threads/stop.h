// When work has to end early: because somebody asks for it, as Ctrl-C does, or because its time is over.
#pragma once

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

#include "common/error.h"

namespace emplace {

// What work throws that is stopped before it has a result.
class Stopped : public Error {
 public:
  Stopped() : Error(Kind::kRunFailed, "interrupted") {}
};

// Work asks it at least every few milliseconds. Copies ask the same. Any thread may use one.
class StopSignal {
 public:
  using Clock = std::chrono::steady_clock;

  StopSignal() = default;  // Never.
  // asked: whether to end; empty: nobody asks. REQUIRES: any thread may call it.
  explicit StopSignal(std::function<bool()> asked) : asked_(std::move(asked)) {}
  // When *flag gets true; null: never. REQUIRES: it outlives this and all copies.
  StopSignal(const std::atomic<bool>* flag) {  // NOLINT(google-explicit-constructor): most have a flag.
    if (flag != nullptr) asked_ = [flag] { return flag->load(std::memory_order_relaxed); };
  }

  // Whether somebody asks for the end, whatever the time is.
  bool Asked() const { return asked_ && asked_(); }
  bool Now() const {
    return Asked() || (at_ < Clock::time_point::max() && (is_short_ ? Clock::now() : RoughNow()) >= at_);
  }
  // Throws Stopped if work has to end now.
  void Poll() const {
    if (Now()) throw Stopped();
  }
  // The same, but no later than at this time.
  StopSignal At(Clock::time_point time) const {
    StopSignal stop = *this;
    stop.at_ = std::min(at_, time);
    return stop;
  }
  // The same, but no later than so many seconds after `begin`; 0: at any time.
  StopSignal After(Clock::time_point begin, double seconds) const {
    constexpr double kLongest = 1e8;  // Three years: more would not be a time point.
    if (seconds <= 0 || seconds > kLongest) return *this;
    StopSignal stop = At(begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
    stop.is_short_ = is_short_ || seconds < kShort;
    return stop;
  }

 private:
  // Some milliseconds late at most, for a quarter of the cost of Clock::now().
  static Clock::time_point RoughNow() {
#ifdef CLOCK_MONOTONIC_COARSE
    timespec now{};
    if (::clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0)
      return Clock::time_point(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
#endif
    return Clock::now();
  }

  static constexpr double kShort = 0.1;  // Seconds, of which some milliseconds are a part that counts.

  std::function<bool()> asked_;
  Clock::time_point at_ = Clock::time_point::max();
  bool is_short_ = false;
};

}  // namespace emplace
