#include "common/files/open_files.h"

#include <linux/close_range.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>

namespace emplace {
namespace {

int64_t Limit(rlim_t value) {
  constexpr auto kMost = static_cast<rlim_t>(std::numeric_limits<int64_t>::max());  // RLIM_INFINITY is beyond it.
  return static_cast<int64_t>(std::min(value, kMost));
}

}  // namespace

int64_t OpenFileLimit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? Limit(limit.rlim_cur) : 0;
}

int64_t RaiseOpenFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);  // Where it may not, the limit stays what it was.
  }
  return OpenFileLimit();
}

bool UnshareOpenFiles() {
  // The range has no file in it, so nothing is closed. unshare(CLONE_FILES) does the same, but containers forbid it.
  constexpr unsigned kNone = std::numeric_limits<int>::max();
  return ::close_range(kNone, kNone, CLOSE_RANGE_UNSHARE) == 0;
}

std::optional<int64_t> CountOpenFiles() {
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/thread-self/fd", error);
  int64_t count = 0;
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) ++count;
  if (error || count == 0) return std::nullopt;
  return count - 1;
}

}  // namespace emplace
