#include "common/pausing_work.h"

#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"

namespace emplace {
namespace {

// Above the longest window that a configuration may ask for, hardware.window_s.
constexpr std::chrono::milliseconds kLongestPause(2000);

}  // namespace

bool PausingWork::Begin() {
  if (!measuring_ || failed_) return false;
  if (!lock_) {
    try {
      lock_.emplace();
    } catch (const Error& error) {
      LogWarning(StrCat(error.what(), "; measurements on this computer are disturbed by this process"));
      failed_ = true;
      return false;
    }
  }
  lock_->BeginWork(kLongestPause);
  return true;
}

}  // namespace emplace
