// Work of one thread that pauses while a window of a measurement is open on this computer (machine_lock.h).
//
//   PausingWork work(measuring);
//   while (...) { const PausingWork::Unit unit(work); ... }      // A unit is some milliseconds of work.
//
// A unit in the middle of which this process waits for others is interrupted for the wait:
//
//   work.Interrupt();
//   ...
//   work.GoOn();
//
// For the others may pause themselves: a window waits for this unit, they wait for the window, and this unit would wait
// for them.
#pragma once

#include <atomic>
#include <optional>

#include "common/threads/machine_lock.h"

namespace emplace {

class PausingWork {
 public:
  // measuring: whether anybody measures. While it is false, units cost nothing. REQUIRES: it outlives the object.
  explicit PausingWork(const std::atomic<bool>& measuring) : measuring_(measuring) {}

  bool measuring() const { return measuring_; }

  class Unit {
   public:
    // Waits until no window is open, but not for long.
    explicit Unit(PausingWork& work) : work_(work) {
      work_.in_unit_ = true;
      work_.Begin();
    }
    ~Unit() {
      work_.End();
      work_.in_unit_ = false;
    }
    Unit(const Unit&) = delete;
    Unit& operator=(const Unit&) = delete;

   private:
    PausingWork& work_;
  };

  // Ends the unit under way for a while: a window may open until it goes on.
  void Interrupt() { End(); }
  // Goes on with the unit, once no window is open, but without waiting for long. Without a unit it does nothing.
  void GoOn();

 private:
  void Begin();
  void End();

  const std::atomic<bool>& measuring_;
  bool failed_ = false;              // The lock cannot be had here: the work goes on without it.
  bool in_unit_ = false;             // Also while the unit is interrupted.
  bool holds_ = false;               // This work holds the lock.
  std::optional<MachineLock> lock_;  // Opened with the first unit that may have to wait.
};

}  // namespace emplace
