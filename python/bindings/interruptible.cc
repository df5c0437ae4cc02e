#include "python/bindings/interruptible.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace nb = nanobind;

namespace emplace::python {
namespace {

constexpr std::chrono::milliseconds kBetweenChecks(50);

}  // namespace

void RunInterruptibly(const std::function<void(const std::atomic<bool>& stop)>& work,
                      const std::function<void()>& tick) {
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false;        // Guarded by `mutex`.
  std::exception_ptr of_work;    // Read after the thread has been joined.
  std::exception_ptr of_python;  // Of a signal handler or tick.
  std::thread thread([&] {
    try {
      work(stop);
    } catch (...) {
      of_work = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    has_ended = true;
    ended.notify_one();
  });
  {
    nb::gil_scoped_release released;
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, kBetweenChecks, [&] { return has_ended; })) {
      if (of_python) continue;
      lock.unlock();
      {
        nb::gil_scoped_acquire acquired;
        try {
          if (PyErr_CheckSignals() != 0) nb::raise_python_error();
          if (tick) tick();
        } catch (...) {
          of_python = std::current_exception();
          stop = true;
        }
      }
      lock.lock();
    }
    lock.unlock();
    thread.join();
  }
  if (of_python) std::rethrow_exception(of_python);
  if (of_work) std::rethrow_exception(of_work);
}

}  // namespace emplace::python
