// How long a run has trained. A sitting is the time of one learner process; a resumed run has several sittings.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace emplace {

// Starts when it is constructed. Any thread may call any function.
class RunClock {
 public:
  explicit RunClock(double seconds_before) : seconds_before_(seconds_before) {}
  double seconds_before() const { return seconds_before_; }  // Seconds of earlier sittings.
  // Seconds of all sittings until now.
  double seconds() const {
    const int64_t ended = ended_;
    return seconds_before_ + std::chrono::duration<double>(ended > 0 ? Clock::duration(ended) : SinceBegin()).count();
  }
  // Training is over: what follows does not count.
  void Stop() { ended_ = std::max<int64_t>(1, SinceBegin().count()); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::duration SinceBegin() const { return Clock::now() - begin_; }

  const double seconds_before_;
  const Clock::time_point begin_ = Clock::now();
  std::atomic<int64_t> ended_ = 0;  // Ticks after begin_; 0: it has not.
};

}  // namespace emplace
