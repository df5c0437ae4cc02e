#include "learner/stage_clock.h"

namespace emplace {

StageSeconds operator-(const StageSeconds& later, const StageSeconds& earlier) {
  return {later.busy - earlier.busy, later.waiting - earlier.waiting};
}

StageSeconds StageClock::SecondsAt(Time now) const {
  StageSeconds seconds = before_;
  (busy_ ? seconds.busy : seconds.waiting) += std::chrono::duration<double>(now - since_).count();
  return seconds;
}

void StageClock::Switch(bool busy) {
  const MutexLock lock(mu_);
  if (busy == busy_) return;
  const Time now = now_();
  before_ = SecondsAt(now);
  since_ = now;
  busy_ = busy;
}

StageSeconds StageClock::seconds() const {
  const MutexLock lock(mu_);
  return SecondsAt(now_());
}

StageTimes operator-(const StageTimes& later, const StageTimes& earlier) {
  StageTimes difference;
  for (size_t i = 0; i < later.seconds_.size(); ++i) difference.seconds_[i] = later.seconds_[i] - earlier.seconds_[i];
  return difference;
}

StageTimes StageClocks::Read() const {
  StageTimes times;
  for (size_t i = 0; i < clocks_.size(); ++i) times[static_cast<Stage>(i)] = clocks_[i].seconds();
  return times;
}

}  // namespace emplace
