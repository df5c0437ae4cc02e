// Limits warnings of one kind that a peer can cause as often as it likes, so that a log of weeks stays small.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "common/threads/mutex.h"

namespace emplace {

// Any thread may call it.
class WarningLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // The first `burst` warnings are logged, and after them one every `every`. now: a clock, for tests.
  explicit WarningLimit(int64_t burst = 20, std::chrono::seconds every = std::chrono::seconds(60),
                        Time (*now)() = &std::chrono::steady_clock::now)
      : burst_(burst), every_(every), now_(now) {}

  // The text to log, with how many warnings were left out before it; empty: this one is left out.
  std::string Admit(const std::string& warning);
  // Logs what Admit returns.
  void Warn(const std::string& warning);

 private:
  const int64_t burst_;
  const std::chrono::seconds every_;
  Time (*const now_)();
  Mutex mu_;
  int64_t logged_ EMPLACE_GUARDED_BY(mu_) = 0;
  int64_t left_out_ EMPLACE_GUARDED_BY(mu_) = 0;  // Since the last that was logged.
  Time last_ EMPLACE_GUARDED_BY(mu_);             // When one was last logged.
};

}  // namespace emplace
