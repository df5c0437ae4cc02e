#include "simulator/methods/search/search_limit.h"

#include <algorithm>

#include "common/error.h"

namespace emplace {

SearchLimit::SearchLimit(int64_t budget, double seconds, const StopSignal& stop,
                         const std::optional<StopSignal::Clock::time_point>& begin)
    : budget_(budget), seconds_(seconds), stop_(stop), begin_(begin.value_or(StopSignal::Clock::now())) {
  EMPLACE_CHECK(budget > 0 || seconds > 0);
}

double SearchLimit::seconds() const { return std::chrono::duration<double>(StopSignal::Clock::now() - begin_).count(); }

double SearchLimit::Share(int64_t evaluations, double us) const {
  double share = 0;
  if (budget_ > 0) share = static_cast<double>(evaluations) / static_cast<double>(budget_);
  if (seconds_ > 0) share = std::max(share, 1e-6 * pace_ * us / seconds_);
  return share;
}

double SearchLimit::Evaluations(double share, double us) const {
  return share * (budget_ > 0 ? static_cast<double>(budget_) : 1e6 * seconds_ / (pace_ * us));
}

double SearchLimit::Progress(int64_t more) const {
  if (stopped()) return 1;
  double progress = 0;
  if (budget_ > 0) progress = static_cast<double>(evaluations_ + more) / static_cast<double>(budget_);
  if (seconds_ > 0) progress = std::max(progress, seconds() / seconds_);
  return progress;
}

}  // namespace emplace
