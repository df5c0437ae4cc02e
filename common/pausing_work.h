// Work of one thread that pauses while a window of a measurement is open on this computer (machine_lock.h).
//
//   PausingWork work(measuring);
//   while (...) { const PausingWork::Unit unit(work); ... }      // A unit is some milliseconds of work.
#pragma once

#include <atomic>
#include <optional>

#include "common/machine_lock.h"

namespace emplace {

class PausingWork {
 public:
  // measuring: whether anybody measures. While it is false, units cost nothing. REQUIRES: it outlives the object.
  explicit PausingWork(const std::atomic<bool>& measuring) : measuring_(measuring) {}

  class Unit {
   public:
    // Waits until no window is open, but not for long.
    explicit Unit(PausingWork& work) : begun_(work.Begin()), work_(work) {}
    ~Unit() {
      if (begun_) work_.lock_->EndWork();
    }
    Unit(const Unit&) = delete;
    Unit& operator=(const Unit&) = delete;

   private:
    const bool begun_;
    PausingWork& work_;
  };

 private:
  bool Begin();

  const std::atomic<bool>& measuring_;
  bool failed_ = false;              // The lock cannot be had here: the work goes on without it.
  std::optional<MachineLock> lock_;  // Opened with the first unit that may have to wait.
};

}  // namespace emplace
