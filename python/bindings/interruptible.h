// Long calls without the interpreter's lock, which Ctrl-C ends.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <functional>
#include <type_traits>
#include <utility>

#include "common/threads/abandonable.h"
#include "python/bindings/interpreter_lock.h"

namespace emplace::python {

// Runs `work` in a thread of its own with the interpreter's lock released, and waits for its end. Meanwhile Python's
// signal handlers run, a few times a second, and then `tick`, both with the lock. If a handler or tick raises, as
// Ctrl-C does by KeyboardInterrupt, `stop` gets true; `work` should end soon, and its result is dropped for that
// exception. An exception of `work` is thrown on. REQUIRES: the caller has the lock.
void RunInterruptibly(const std::function<void(const std::atomic<bool>& stop)>& work,
                      const std::function<void()>& tick = nullptr);

// For the end of the program: stops all work that RunInterruptibly runs, also what begins later, and waits for its end.
// REQUIRES: the caller has the lock.
void StopRunningCalls();

// Returns what work() returns, for work that cannot be told to end: it runs as by RunInterruptibly, but a signal
// handler that raises is not kept waiting, and the thread goes on alone. REQUIRES: the caller has the lock; `work` owns
// all that it touches, and touches nothing of Python.
template <typename Work>
std::invoke_result_t<Work> RunOrLeave(Work work) {
  const StopSignal at_signal([] {
    const WithLock acquired;
    return PyErr_CheckSignals() != 0;
  });
  try {
    const WithoutLock released;
    return RunOrAbandon(std::move(work), at_signal);
  } catch (const Stopped&) {
    nanobind::raise_python_error();  // The handler's.
  }
}

}  // namespace emplace::python
