#include "learner/evaluation/plateau.h"

#include <cmath>
#include <span>
#include <utility>

#include "common/error.h"
#include "common/interval.h"
#include "common/strings.h"

namespace emplace {
namespace {

// How much better the ratio after is than the one before, given the difference of their logarithms.
std::string Percent(double log_gain) { return Format("%.2f%%", 100 * std::expm1(log_gain)); }

std::string GeometricMean(std::span<const double> logs) { return ShownRatio(std::exp(MeanWithInterval(logs).mean)); }

}  // namespace

Plateau::Plateau(const Options& options, Before before)
    : options_(options), ratios_(std::move(before.history)), last_(ratios_.empty() ? -1 : before.updates) {
  EMPLACE_CHECK(options.patience == 0 || options.patience > 1);
  const MutexLock lock(mu_);
  Judge(before.updates);
}

void Plateau::Add(int64_t updates, double ratio) {
  const MutexLock lock(mu_);
  if (options_.patience == 0 || reason_ || updates <= last_ || !(ratio > 0) || !std::isfinite(ratio)) return;
  ratios_.push_back(ratio);
  last_ = updates;
  Judge(updates);
}

void Plateau::Judge(int64_t updates) {
  if (options_.patience == 0) return;
  const auto window = static_cast<size_t>(options_.patience);
  if (ratios_.size() > 2 * window)
    ratios_.erase(ratios_.begin(), ratios_.end() - static_cast<std::ptrdiff_t>(2 * window));
  if (ratios_.size() < 2 * window || updates < options_.first_update) return;

  std::vector<double> logs;
  for (const double each : ratios_) logs.push_back(std::log(each));
  const std::span<const double> before = std::span(logs).first(window);
  const std::span<const double> last = std::span(logs).last(window);
  const Interval gain = DifferenceOfMeans(before, last);
  if (gain.high >= std::log1p(options_.min_gain)) return;
  reason_ = StrCat("the last ", window, " evaluations on the ", options_.graphs, " graphs average ",
                   GeometricMean(last), ", the ", window, " before them ", GeometricMean(before), ": better by ",
                   Percent(gain.mean), " (95% interval ", Percent(gain.low), " to ", Percent(gain.high),
                   "), certainly less than ", Percent(std::log1p(options_.min_gain)));
}

std::optional<std::string> Plateau::reason() const {
  const MutexLock lock(mu_);
  return reason_;
}

std::vector<double> Plateau::history() const {
  const MutexLock lock(mu_);
  return ratios_;
}

}  // namespace emplace
