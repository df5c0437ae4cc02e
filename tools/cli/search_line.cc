#include "tools/cli/search_line.h"

#include <unistd.h>

#include "tools/cli/clear_line.h"

namespace emplace {
namespace {

constexpr std::chrono::milliseconds kEvery(100);

}  // namespace

SearchLine::SearchLine(std::FILE* stream)
    : stream_(stream), shown_(::isatty(::fileno(stream)) == 1), last_(std::chrono::steady_clock::now()) {}

SearchLine::~SearchLine() {
  if (shown_) std::fputs(kClearLine, stream_);
}

void SearchLine::Show(const SearchProgress& progress) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kEvery) return;
  last_ = now;
  std::fprintf(stream_, "%s%.1f s, %lld placements, best %.3f ms, found by %s", kClearLine, progress.seconds,
               static_cast<long long>(progress.evaluations), progress.best_us / 1e3, progress.found_by.c_str());
  std::fflush(stream_);
}

}  // namespace emplace
