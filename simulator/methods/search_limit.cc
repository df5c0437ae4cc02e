#include "simulator/methods/search_limit.h"

#include <algorithm>

#include "common/error.h"

namespace emplace {
namespace {

constexpr double kLeastSeconds = 1e-9;

}  // namespace

SearchLimit::SearchLimit(int64_t budget, double seconds, const StopSignal& stop,
                         const std::optional<StopSignal::Clock::time_point>& begin)
    : budget_(budget),
      seconds_(seconds),
      stop_(stop),
      begin_(begin.value_or(StopSignal::Clock::now())),
      search_{.evaluations = budget, .seconds = seconds},
      round_(search_) {
  EMPLACE_CHECK(budget > 0 || seconds > 0);
}

bool SearchLimit::Affords(int64_t evaluations, int64_t kept) {
  const int64_t left = evaluations_left() - kept;
  if (evaluations <= left) return true;
  Forfeit(std::max<int64_t>(0, left));
  return false;
}

double SearchLimit::seconds() const { return std::chrono::duration<double>(StopSignal::Clock::now() - begin_).count(); }

void SearchLimit::BeginRound(int64_t evaluations, double seconds, int64_t left_evaluations, double left_us) {
  // No limit is 0, which stands for none.
  if (budget_ > 0) search_.evaluations = std::max<int64_t>(1, budget_ - left_evaluations);
  if (seconds_ > 0) search_.seconds = std::max(kLeastSeconds, seconds_ - 1e-6 * pace_ * left_us);
  round_ = {Spent(), this->seconds(), evaluations, seconds};
}

double SearchLimit::Share(int64_t evaluations, double us) const {
  double share = 0;
  if (round_.evaluations > 0) share = static_cast<double>(evaluations) / static_cast<double>(round_.evaluations);
  if (round_.seconds > 0) share = std::max(share, 1e-6 * pace_ * us / round_.seconds);
  return share;
}

double SearchLimit::Evaluations(double share, double us) const {
  return share *
         (round_.evaluations > 0 ? static_cast<double>(round_.evaluations) : 1e6 * round_.seconds / (pace_ * us));
}

double SearchLimit::PartOf(const Extent& extent, int64_t more) const {
  double part = 0;
  if (extent.evaluations > 0) {
    part = static_cast<double>(Spent() + more - extent.begin_evaluations) / static_cast<double>(extent.evaluations);
  }
  if (extent.seconds > 0) part = std::max(part, (seconds() - extent.begin_seconds) / extent.seconds);
  return part;
}

double SearchLimit::Whole(int64_t more) const { return stopped() ? 1 : PartOf(search_, more); }

double SearchLimit::Progress(int64_t more) const {
  const double whole = Whole(more);
  return whole >= 1 ? whole : PartOf(round_, more);
}

}  // namespace emplace
