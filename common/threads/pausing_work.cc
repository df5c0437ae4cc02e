#include "common/threads/pausing_work.h"

#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"

namespace emplace {
namespace {

// Above the longest window that a configuration may ask for, hardware.window_s.
constexpr std::chrono::milliseconds kLongestPause(2000);

}  // namespace

void PausingWork::Begin() {
  if (holds_ || !measuring_ || failed_) return;
  if (!lock_) {
    try {
      lock_.emplace();
    } catch (const Error& error) {
      LogWarning(StrCat(error.what(), "; measurements on this computer are disturbed by this process"));
      failed_ = true;
      return;
    }
  }
  lock_->BeginWork(kLongestPause);
  holds_ = true;
}

void PausingWork::End() {
  if (!holds_) return;
  lock_->EndWork();
  holds_ = false;
}

void PausingWork::GoOn() {
  if (in_unit_) Begin();
}

}  // namespace emplace
