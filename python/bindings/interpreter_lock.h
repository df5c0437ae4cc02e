// Python's lock, given up and taken by threads that may still run when the program ends.
//
// A thread that asks for the lock while the interpreter shuts down is ended by Python (before 3.14) by unwinding its
// stack, which aborts the program at the first noexcept function or join of a thread on the way. Such a thread stays
// where it is instead, until the process has ended.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

namespace emplace::python {

[[noreturn]] inline void StayUntilTheProcessEnds() {
  for (;;) ::pause();
}

// As nb::gil_scoped_acquire.
class WithLock {
 public:
  WithLock() {
    try {
      state_ = PyGILState_Ensure();
    } catch (const abi::__forced_unwind&) {
      StayUntilTheProcessEnds();
    }
  }
  ~WithLock() { PyGILState_Release(state_); }
  WithLock(const WithLock&) = delete;
  WithLock& operator=(const WithLock&) = delete;

 private:
  PyGILState_STATE state_ = {};
};

// As nb::gil_scoped_release.
class WithoutLock {
 public:
  WithoutLock() : state_(PyEval_SaveThread()) {}
  ~WithoutLock() {
    try {
      PyEval_RestoreThread(state_);
    } catch (const abi::__forced_unwind&) {
      StayUntilTheProcessEnds();
    }
  }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  PyThreadState* const state_;
};

}  // namespace emplace::python
