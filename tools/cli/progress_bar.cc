#include "tools/cli/progress_bar.h"

#include <unistd.h>

#include <cstdio>

#include "tools/cli/clear_line.h"

namespace emplace {
namespace {

constexpr int64_t kWidth = 30;

}  // namespace

ProgressBar::ProgressBar(int64_t total) : total_(total), shown_(total > 0 && ::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (shown_) std::fputs(kClearLine, stderr);
}

void ProgressBar::Advance(const std::string& what) {
  ++done_;
  if (!shown_) return;
  const auto filled = static_cast<size_t>(done_ * kWidth / total_);
  const std::string bar = std::string(filled, '#') + std::string(static_cast<size_t>(kWidth) - filled, '.');
  std::fprintf(stderr, "%s[%s] %lld/%lld %s", kClearLine, bar.c_str(), static_cast<long long>(done_),
               static_cast<long long>(total_), what.c_str());
  std::fflush(stderr);
}

}  // namespace emplace
