#include "actor/hardware/step_runner.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "common/error.h"

namespace emplace {
namespace {

// For how long a thread that waits keeps its core, then only while no other thread wants it, before it sleeps: a thread
// that sleeps takes tens of microseconds to wake up, which no simulation knows of.
constexpr std::chrono::microseconds kSpin(50);
constexpr std::chrono::microseconds kYield(5000);

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// How often the operating system has taken the core from the calling thread while it had work to do.
int64_t PreemptionsOfThread() {
  rusage usage{};
  EMPLACE_CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
  return usage.ru_nivcsw;
}

// Another device has failed, whose error the step throws.
struct Stopped {};

}  // namespace

// What one device's thread knows of the step that it runs.
struct StepRunner::DeviceState {
  DeviceIndex device = 0;
  std::vector<bool> arrived;      // [values] copies and signals that were posted, and copied.
  std::vector<bool> awaited;      // [values] those of them that an instruction has awaited.
  std::vector<Delivery> pending;  // Taken from the inbox, and not copied yet.
  Clock::time_point link_free{};  // When the throttled link has sent what was posted before.
  int64_t yields = 0;             // Preemptions of this step that cost nothing: the thread had nothing to do.
};

StepRunner::StepRunner(const StepProgram& program, int32_t num_ops, std::vector<int64_t> bytes, StepBackend& backend,
                       const LinkThrottle& throttle)
    : program_(program),
      bytes_(std::move(bytes)),
      backend_(backend),
      throttle_(throttle),
      readers_left_(program.values.size()) {
  EMPLACE_CHECK(bytes_.size() == program_.values.size());
  times_.op_begin_us.resize(static_cast<size_t>(num_ops));
  times_.op_end_us.resize(static_cast<size_t>(num_ops));
  times_.copy_begin_us.resize(program_.values.size());
  times_.copy_end_us.resize(program_.values.size());
  for (size_t device = 0; device < program_.devices.size(); ++device) inboxes_.push_back(std::make_unique<Inbox>());
  for (size_t device = 0; device < program_.devices.size(); ++device) {
    threads_.emplace_back([this, device] { WorkOn(static_cast<DeviceIndex>(device)); });
  }
}

StepRunner::~StepRunner() {
  {
    const MutexLock lock(mu_);
    ended_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

const StepTimes& StepRunner::Run() {
  constexpr double kNever = std::numeric_limits<double>::quiet_NaN();
  for (auto* times : {&times_.op_begin_us, &times_.op_end_us, &times_.copy_begin_us, &times_.copy_end_us}) {
    std::fill(times->begin(), times->end(), kNever);
  }
  for (size_t value = 0; value < program_.values.size(); ++value) {
    readers_left_[value].store(program_.values[value].readers, std::memory_order_relaxed);
  }
  {
    const MutexLock lock(mu_);
    EMPLACE_CHECK(error_ == nullptr);
    ++step_;
    running_ = static_cast<int32_t>(threads_.size());
    last_end_us_ = 0;
    preemptions_ = 0;
    changed_.NotifyAll();
    while (running_ > 0) changed_.Wait(mu_);
    if (error_ != nullptr) std::rethrow_exception(error_);
    times_.step_us = last_end_us_;
    times_.preemptions = preemptions_;
  }
  backend_.AddTimes(start_, times_);
  return times_;
}

void StepRunner::WorkOn(DeviceIndex device) {
  const std::vector<bool> none(program_.values.size());
  DeviceState state{.device = device, .arrived = none, .awaited = none, .pending = {}};
  for (int64_t done = 0;; ++done) {
    {
      const MutexLock lock(mu_);
      while (step_ == done && !ended_) changed_.Wait(mu_);
      if (ended_) return;
    }
    double end_us = 0;
    int64_t preemptions = 0;
    try {
      if (done == 0) backend_.PrepareThread(device);
      backend_.BeginStep(device);
      MeetAtStart(done + 1);
      const int64_t before = PreemptionsOfThread();
      RunDevice(state);
      backend_.Finish(device);
      end_us = MicrosSinceStart();
      preemptions = PreemptionsOfThread() - before - state.yields;
    } catch (const Stopped&) {
    } catch (...) {
      Fail(std::current_exception());
    }
    const MutexLock lock(mu_);
    last_end_us_ = std::max(last_end_us_, end_us);
    preemptions_ += preemptions;
    if (--running_ == 0) changed_.NotifyAll();
  }
}

// Waits until all devices are here, so that the time of waking their threads does not count.
void StepRunner::MeetAtStart(int64_t step) {
  const auto everyone = static_cast<int64_t>(threads_.size());
  if (at_start_.fetch_add(1) + 1 == step * everyone) {
    start_ = Clock::now();
    begun_.store(step);
    return;
  }
  for (int spins = 0; begun_.load() < step; ++spins) {
    if (stop_.load()) throw Stopped();
    if (spins < 1000) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
}

void StepRunner::RunDevice(DeviceState& state) {
  std::fill(state.arrived.begin(), state.arrived.end(), false);
  std::fill(state.awaited.begin(), state.awaited.end(), false);
  state.link_free = start_;
  state.yields = 0;
  for (const StepInstruction& instruction : program_.devices[static_cast<size_t>(state.device)]) {
    for (const int32_t value : instruction.awaits) Await(state, value);
    for (const int32_t value : instruction.awaits) {
      if (state.awaited[static_cast<size_t>(value)]) continue;
      backend_.Await(state.device, value);
      state.awaited[static_cast<size_t>(value)] = true;
    }
    if (stop_.load(std::memory_order_relaxed)) throw Stopped();
    if (!instruction.given) {
      times_.op_begin_us[static_cast<size_t>(instruction.op)] = MicrosSinceStart();
      backend_.Run(state.device, instruction);
      times_.op_end_us[static_cast<size_t>(instruction.op)] = MicrosSinceStart();
    }
    Send(state, instruction);
    for (const int32_t value : instruction.reads) Release(value);
  }
}

void StepRunner::Send(DeviceState& state, const StepInstruction& instruction) {
  for (const int32_t value : instruction.sends) {
    backend_.Post(state.device, value);
    Delivery delivery{value, {}};
    if (throttle_.bandwidth_bytes_per_us > 0) {
      const auto microseconds = [](double us) {
        return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::micro>(us));
      };
      const double bytes = static_cast<double>(bytes_[static_cast<size_t>(value)]);
      state.link_free =
          std::max(state.link_free, Clock::now()) + microseconds(bytes / throttle_.bandwidth_bytes_per_us);
      delivery.due = state.link_free + microseconds(throttle_.latency_us);
    }
    Inbox& inbox = *inboxes_[static_cast<size_t>(program_.values[static_cast<size_t>(value)].device)];
    const MutexLock lock(inbox.mu);
    inbox.deliveries.push_back(delivery);
    inbox.filled.store(true);
    inbox.changed.NotifyOne();
  }
}

// Copies whatever comes until the value was posted and copied.
void StepRunner::Await(DeviceState& state, int32_t value) {
  while (!state.arrived[static_cast<size_t>(value)]) {
    Take(state, /*wait=*/state.pending.empty(), Clock::time_point::max());
    if (state.pending.empty()) continue;
    const auto first = std::min_element(state.pending.begin(), state.pending.end(),
                                        [](const Delivery& a, const Delivery& b) { return a.due < b.due; });
    if (first->due > Clock::now()) {
      Take(state, /*wait=*/true, first->due);
      continue;
    }
    const int32_t next = first->value;
    state.pending.erase(first);
    Arrive(state, next);
  }
}

// Moves what is in the device's inbox to state.pending. wait: first waits for something, until this time at most.
void StepRunner::Take(DeviceState& state, bool wait, Clock::time_point until) {
  Inbox& inbox = *inboxes_[static_cast<size_t>(state.device)];
  const Clock::time_point begin = Clock::now();
  const auto still_waits = [&](Clock::time_point end) {
    if (stop_.load()) throw Stopped();
    return wait && !inbox.filled.load() && Clock::now() < std::min(until, end);
  };
  while (still_waits(begin + kSpin)) Pause();
  if (still_waits(begin + kYield)) {
    const int64_t before = PreemptionsOfThread();
    while (still_waits(begin + kYield)) std::this_thread::yield();
    state.yields += PreemptionsOfThread() - before;
  }
  if (!wait && !inbox.filled.load()) return;
  const MutexLock lock(inbox.mu);
  while (wait && inbox.deliveries.empty() && !stop_.load() && Clock::now() < until) {
    if (until == Clock::time_point::max()) {
      inbox.changed.Wait(inbox.mu);
    } else {
      inbox.changed.WaitUntil(inbox.mu, until);
    }
  }
  if (stop_.load()) throw Stopped();
  state.pending.insert(state.pending.end(), inbox.deliveries.begin(), inbox.deliveries.end());
  inbox.deliveries.clear();
  inbox.filled.store(false);
}

void StepRunner::Arrive(DeviceState& state, int32_t value) {
  const StepValue& about = program_.values[static_cast<size_t>(value)];
  if (about.source != StepValue::kNone) {
    times_.copy_begin_us[static_cast<size_t>(value)] = MicrosSinceStart();
    backend_.Copy(state.device, value);
    times_.copy_end_us[static_cast<size_t>(value)] = MicrosSinceStart();
    Release(about.source);
  }
  state.arrived[static_cast<size_t>(value)] = true;
}

void StepRunner::Release(int32_t value) {
  // The thread that ends last frees: it has to see what all readers did.
  const int32_t left = readers_left_[static_cast<size_t>(value)].fetch_sub(1, std::memory_order_acq_rel) - 1;
  if (left == 0 && !program_.values[static_cast<size_t>(value)].stays) backend_.Free(value);
}

void StepRunner::Fail(std::exception_ptr error) {
  {
    const MutexLock lock(mu_);
    if (error_ == nullptr) error_ = std::move(error);
  }
  stop_.store(true);
  for (const std::unique_ptr<Inbox>& inbox : inboxes_) {
    const MutexLock lock(inbox->mu);
    inbox->changed.NotifyAll();
  }
}

double StepRunner::MicrosSinceStart() const {
  return std::chrono::duration<double, std::micro>(Clock::now() - start_).count();
}

}  // namespace emplace
