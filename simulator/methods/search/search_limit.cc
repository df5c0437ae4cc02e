#include "simulator/methods/search/search_limit.h"

#include <algorithm>

#include "common/error.h"

namespace emplace {

SearchLimit::SearchLimit(int64_t budget, double seconds, const std::atomic<bool>* stop)
    : budget_(budget), seconds_(seconds), stop_(stop) {
  EMPLACE_CHECK(budget > 0 || seconds > 0);
}

double SearchLimit::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

double SearchLimit::Progress(int64_t more) const {
  if (stop_ != nullptr && *stop_) return 1;
  double progress = 0;
  if (budget_ > 0) progress = static_cast<double>(evaluations_ + more) / static_cast<double>(budget_);
  if (seconds_ > 0) progress = std::max(progress, seconds() / seconds_);
  return progress;
}

}  // namespace emplace
