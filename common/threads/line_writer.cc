#include "common/threads/line_writer.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <thread>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "common/threads/mutex.h"

namespace emplace {
namespace {

constexpr std::chrono::milliseconds kFarewell(1000);

// Does without where the reader is gone.
void WriteAll(int descriptor, const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(descriptor, text.data() + written, text.size() - written);
    if (n >= 0) {
      written += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {  // Another process has made what both write to one that does not wait.
      pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace

struct LineWriter::State {
  State(int to, size_t most) : descriptor(to), capacity(most) {}

  const int descriptor;
  const size_t capacity;
  Mutex mu;
  CondVar arrived;  // Notified when there is text to write, or none will come.
  CondVar idle;     // Notified when all is written.
  std::deque<std::string> texts EMPLACE_GUARDED_BY(mu);
  size_t left_out EMPLACE_GUARDED_BY(mu) = 0;   // Since the last text that was taken in, and not told yet.
  bool started EMPLACE_GUARDED_BY(mu) = false;  // The thread runs.
  bool writing EMPLACE_GUARDED_BY(mu) = false;
  bool closed EMPLACE_GUARDED_BY(mu) = false;

  bool done() const EMPLACE_REQUIRES(mu) { return texts.empty() && !writing; }
  std::string TakeLeftOut() EMPLACE_REQUIRES(mu) {
    return StrCat("(", std::exchange(left_out, 0), " lines were left out here: nobody read them)");
  }
  void Run();
};

void LineWriter::State::Run() {
  pthread_setname_np(pthread_self(), "lines");  // For profilers and top.
  while (true) {
    std::string text;
    {
      const MutexLock lock(mu);
      writing = false;
      if (texts.empty()) idle.NotifyAll();
      while (!closed && texts.empty()) arrived.Wait(mu);
      if (texts.empty()) return;
      text = std::move(texts.front());
      texts.pop_front();
      if (texts.empty() && left_out > 0) text += "\n" + TakeLeftOut();
      writing = true;
    }
    WriteAll(descriptor, text + "\n");
  }
}

LineWriter::LineWriter(int descriptor, size_t capacity) : state_(std::make_shared<State>(descriptor, capacity)) {
  EMPLACE_CHECK(capacity > 0);
}

LineWriter::~LineWriter() {
  Flush(kFarewell);
  const MutexLock lock(state_->mu);
  state_->texts.clear();
  state_->closed = true;
  state_->arrived.NotifyAll();
}

void LineWriter::Write(std::string text) {
  const MutexLock lock(state_->mu);
  if (state_->texts.size() >= state_->capacity) {
    ++state_->left_out;
    return;
  }
  if (state_->left_out > 0) text = state_->TakeLeftOut() + "\n" + text;
  state_->texts.push_back(std::move(text));
  state_->arrived.NotifyOne();
  // Only now: a program that has nothing to say needs no thread.
  if (!std::exchange(state_->started, true)) std::thread([state = state_] { state->Run(); }).detach();
}

bool LineWriter::Flush(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const MutexLock lock(state_->mu);
  while (!state_->done() && state_->idle.WaitUntil(state_->mu, deadline)) {
  }
  return state_->done();
}

}  // namespace emplace
