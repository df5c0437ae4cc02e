// Long calls without the interpreter's lock, which Ctrl-C ends.
#pragma once

#include <atomic>
#include <functional>

namespace emplace::python {

// Runs `work` in a thread of its own with the interpreter's lock released, and waits for its end. Meanwhile Python's
// signal handlers run, a few times a second, and then `tick`, both with the lock. If a handler or tick raises, as
// Ctrl-C does by KeyboardInterrupt, `stop` gets true; `work` should end soon, and its result is dropped for that
// exception. An exception of `work` is thrown on. REQUIRES: the caller has the lock.
void RunInterruptibly(const std::function<void(const std::atomic<bool>& stop)>& work,
                      const std::function<void()>& tick = nullptr);

}  // namespace emplace::python
