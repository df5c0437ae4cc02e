#include "common/threads/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <string>
#include <thread>

#include "common/files/file_io.h"

namespace emplace {
namespace {

// All commands end within half a second, also on a busy machine.
constexpr timespec kToEndWell = {.tv_sec = 0, .tv_nsec = 330'000'000};

// A signal handler can reach nothing but a global.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);
// What the first of the two threads has decided: the one that finishes, or the one below that ends all.
enum class End : uint8_t { kOpen, kFinish, kNow };
std::atomic<End> chosen_end = End::kOpen;

void Decide(End wanted) {
  End open = End::kOpen;
  chosen_end.compare_exchange_strong(open, wanted);
}

// line: what it says on stderr.
[[noreturn]] void Watch(const sigset_t& signals, const std::string& line) {
  int signal = 0;
  while (::sigwait(&signals, &signal) != 0) {
  }
  interrupted = true;
  if (::sigtimedwait(&signals, nullptr, &kToEndWell) < 0) {
    Decide(End::kNow);
    if (chosen_end == End::kFinish) ::sigwait(&signals, &signal);
  }
  RemoveUnfinishedFiles();
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(1);
}

void HandleBoth(void (*handler)(int)) {
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
}

}  // namespace

const std::atomic<bool>& Interrupted() { return interrupted; }

void FinishDespiteInterrupt() { Decide(End::kFinish); }

void CatchInterrupts(const std::string& program) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // Threads inherit it, so that only the one below gets them.
  std::thread([signals, line = program + ": interrupted\n"] { Watch(signals, line); }).detach();
}

void NoteInterrupts() {
  HandleBoth([](int /*signal*/) { interrupted = true; });
}

void IgnoreInterrupts() { HandleBoth(SIG_IGN); }

}  // namespace emplace
