#include "python/bindings/interruptible.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>

#include "common/threads/subnormals.h"
#include "python/bindings/interpreter_lock.h"

namespace nb = nanobind;

namespace emplace::python {
namespace {

constexpr std::chrono::milliseconds kBetweenChecks(50);
constexpr std::chrono::seconds kAtTheEnd(5);  // A forked process waits in vain: the threads are those of another one.

// The calls whose work goes on. When the program ends, it tells them to stop and waits for them, as what they use is
// destroyed then.
class RunningCalls {
 public:
  static RunningCalls& Get() {
    static auto* const calls = new RunningCalls;  // Never destroyed: threads may outlive the program's statics.
    return *calls;
  }

  // One of them, as long as it lives. REQUIRES: `stop` lives longer.
  class Call {
   public:
    explicit Call(std::atomic<bool>& stop) : stop_(stop) {
      const std::lock_guard lock(Get().mutex_);
      Get().stops_.insert(&stop_);
      if (Get().closed_) stop_ = true;
    }
    ~Call() {
      const std::lock_guard lock(Get().mutex_);
      Get().stops_.erase(&stop_);
      Get().ended_.notify_all();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    std::atomic<bool>& stop_;
  };

  void StopAll() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    for (std::atomic<bool>* stop : stops_) *stop = true;
    ended_.wait_for(lock, kAtTheEnd, [this] { return stops_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::set<std::atomic<bool>*> stops_;
  bool closed_ = false;
};

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
    const SubnormalsAsZero subnormals_as_zero;  // As in the programs.
    try {
      const RunningCalls::Call call(stop);
      work(stop);
    } catch (...) {
      of_work = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    has_ended = true;
    ended.notify_one();
  });
  {
    const WithoutLock released;
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, kBetweenChecks, [&] { return has_ended; })) {
      if (of_python) continue;
      lock.unlock();
      {
        const WithLock acquired;
        try {
          if (PyErr_CheckSignals() != 0) nb::raise_python_error();
          if (tick) tick();
        } catch (const abi::__forced_unwind&) {
          StayUntilTheProcessEnds();
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

void StopRunningCalls() {
  const WithoutLock released;
  RunningCalls::Get().StopAll();
}

}  // namespace emplace::python
