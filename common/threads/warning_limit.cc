#include "common/threads/warning_limit.h"

#include <utility>

#include "common/log.h"
#include "common/strings.h"

namespace emplace {

std::string WarningLimit::Admit(const std::string& warning) {
  const MutexLock lock(mu_);
  const Time now = now_();
  if (logged_ >= burst_ && now - last_ < every_) {
    ++left_out_;
    return "";
  }
  ++logged_;
  last_ = now;
  const int64_t left_out = std::exchange(left_out_, 0);
  return left_out == 0 ? warning : StrCat(warning, " (", left_out, " more like this since the last line)");
}

void WarningLimit::Warn(const std::string& warning) {
  if (const std::string text = Admit(warning); !text.empty()) LogWarning(text);
}

}  // namespace emplace
