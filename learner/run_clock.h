// How long a run has trained, over all its sittings.
#pragma once

#include <chrono>

namespace emplace {

// Starts at once. Any thread may read it.
class RunClock {
 public:
  explicit RunClock(double seconds_before) : seconds_before_(seconds_before) {}
  double seconds_before() const { return seconds_before_; }  // Of earlier sittings.
  double seconds() const {
    return seconds_before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  const double seconds_before_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace emplace
