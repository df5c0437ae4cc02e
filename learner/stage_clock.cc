#include "learner/stage_clock.h"

#include "common/error.h"

namespace emplace {

StageSeconds operator-(const StageSeconds& later, const StageSeconds& earlier) {
  return {later.busy - earlier.busy, later.waiting - earlier.waiting};
}

StageSeconds StageClock::SecondsAt(Time now) const {
  StageSeconds seconds = before_;
  (busy_ ? seconds.busy : seconds.waiting) += std::chrono::duration<double>(now - since_).count();
  return seconds;
}

void StageClock::SetThreads(int threads) {
  const MutexLock lock(mu_);
  EMPLACE_CHECK(threads > 0 && working_ == 0);
  threads_ = threads;
}

void StageClock::Set(int working) {
  const MutexLock lock(mu_);
  Change(working);
}

void StageClock::Add(int working) {
  const MutexLock lock(mu_);
  Change(working_ + working);
}

void StageClock::Change(int working) {
  EMPLACE_CHECK(working >= 0 && working <= threads_);
  working_ = working;
  last_ = now_();
  const bool busy = working_ == threads_;
  if (busy == busy_) return;
  before_ = SecondsAt(last_);
  since_ = last_;
  busy_ = busy;
}

std::optional<double> StageClock::silent_s() const {
  const MutexLock lock(mu_);
  if (working_ == 0) return std::nullopt;
  return std::chrono::duration<double>(now_() - last_).count();
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
