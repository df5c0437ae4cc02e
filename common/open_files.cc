#include "common/open_files.h"

#include <sys/resource.h>

#include <algorithm>
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

}  // namespace emplace
