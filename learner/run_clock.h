// How long a run has trained. A sitting is the time of one learner process; a resumed run has several sittings.
#pragma once

#include <chrono>

namespace emplace {

// Starts when it is constructed. Any thread may call any function.
class RunClock {
 public:
  explicit RunClock(double seconds_before) : seconds_before_(seconds_before) {}
  double seconds_before() const { return seconds_before_; }  // Seconds of earlier sittings.
  // Seconds of all sittings until now.
  double seconds() const {
    return seconds_before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  const double seconds_before_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace emplace
