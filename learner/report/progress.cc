#include "learner/report/progress.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/strings.h"
#include "learner/actors/run_ahead.h"

namespace emplace {
namespace {

// A stage that is busy for more of the time than this is what everything else waits for.
constexpr double kFullShare = 0.8;

// What an episode has to pass before the actors get better weights for it. The evaluation goes on beside them.
constexpr std::array kPath = {Stage::kReceive, Stage::kCheck, Stage::kBatch, Stage::kUpdate, Stage::kPublish};

std::string HoursMinutesSeconds(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(0.0, seconds));
  return Format("%lld:%02lld:%02lld", static_cast<long long>(whole / 3600), static_cast<long long>(whole / 60 % 60),
                static_cast<long long>(whole % 60));
}

}  // namespace

Progress::Progress(const RunConfig& config, int64_t updates_before, double seconds_before)
    : config_(config), updates_before_(updates_before), seconds_before_(seconds_before), best_ratio_(std::nan("")) {
  last_.seconds = seconds_before;
}

void Progress::AddBatch(const BatchStats& stats) {
  const MutexLock lock(mu_);
  lag_min_ = batches_ == 0 ? stats.lag_min : std::min(lag_min_, stats.lag_min);
  lag_max_ = batches_ == 0 ? stats.lag_max : std::max(lag_max_, stats.lag_max);
  lag_sum_ += stats.lag_mean;
  ++batches_;
  best_ratio_ = std::fmin(best_ratio_, stats.best_ratio);
  if (std::isnan(stats.mean_ratio)) return;
  ratio_sum_ += stats.mean_ratio;
  ++ratios_;
}

// "update (busy: receive 4%, check 3%, batch 0%, update 98%, publish 2%)"
std::string Progress::Limit(const Totals& totals) const {
  const double interval_s = std::max(1e-9, totals.seconds - last_.seconds);
  const StageTimes since = totals.stages - last_.stages;
  Stage busiest = kPath.front();
  std::string shares;
  for (const Stage stage : kPath) {
    if (since[stage].busy > since[busiest].busy) busiest = stage;
    shares += Format("%s%s %.0f%%", shares.empty() ? "" : ", ", NameOf(stage), 100 * since[stage].busy / interval_s);
  }
  // When the learner waits: are finished episodes held up between the actors and here, or are there none?
  const ActorSessions::Counts& actors = totals.front_end.actors;
  const auto most = static_cast<int64_t>(RunAheadOfEach(config_, actors.alive).most);
  const int64_t most_of_each = most > 0 ? std::min(most, config_.actor.send_queue) : config_.actor.send_queue;
  const bool held_up = 2 * actors.under_way > actors.alive * most_of_each;
  const char* const limit = since[busiest].busy > kFullShare * interval_s ? NameOf(busiest)
                            : held_up                                     ? "network"
                                                                          : "actors";
  return Format("%s (busy: %s)", limit, shares.c_str());
}

std::string Progress::TimeLeft(const Totals& totals) const {
  const double max_minutes = config_.training.max_minutes;  // 0: no limit.
  double left_s = max_minutes > 0 ? 60 * max_minutes - totals.seconds : HUGE_VAL;
  if (totals.updates > updates_before_) {
    const double seconds_each =
        (totals.seconds - seconds_before_) / static_cast<double>(totals.updates - updates_before_);
    left_s = std::min(left_s, seconds_each * static_cast<double>(config_.training.iterations - totals.updates));
  }
  return std::isfinite(left_s) ? HoursMinutesSeconds(left_s) : "?";
}

std::string Progress::Line(const Totals& totals) {
  const MutexLock lock(mu_);
  const double interval_s = std::max(1e-9, totals.seconds - last_.seconds);
  std::string line = Format("update %lld/%lld | %.1f episodes/s %.0f steps/s | ",
                            static_cast<long long>(totals.updates), static_cast<long long>(config_.training.iterations),
                            static_cast<double>(totals.front_end.episodes - last_.front_end.episodes) / interval_s,
                            static_cast<double>(totals.front_end.steps - last_.front_end.steps) / interval_s);
  if (batches_ > 0) {
    line += Format("makespan / one device: mean %.3f best %.3f | lag %lld/%.1f/%lld",
                   ratios_ > 0 ? ratio_sum_ / static_cast<double>(ratios_) : std::nan(""), best_ratio_,
                   static_cast<long long>(lag_min_), lag_sum_ / static_cast<double>(batches_),
                   static_cast<long long>(lag_max_));
  } else {
    line += "no update since the last line";
  }
  const LedgerCounts& ledger = totals.ledger;
  if (totals.front_end.actors.measuring > 0) {
    // Since they joined: a window counts when it has closed, so in a time as short as that since the line before there
    // may seem to have been more of it than time.
    line += Format(" | %lld measure, windows open %.0f%%", static_cast<long long>(totals.front_end.actors.measuring),
                   100 * totals.front_end.actors.window_s / std::max(1e-9, totals.front_end.actors.measuring_s));
  }
  line += Format(
      " | limited by %s | actors %lld (%lld gone) | %llu episodes: %llu trained %llu stale %llu rejected | %s left",
      Limit(totals).c_str(), static_cast<long long>(totals.front_end.actors.alive),
      static_cast<long long>(totals.front_end.actors.gone), static_cast<unsigned long long>(ledger.produced),
      static_cast<unsigned long long>(ledger.trained), static_cast<unsigned long long>(ledger.stale),
      static_cast<unsigned long long>(ledger.rejected), TimeLeft(totals).c_str());
  last_ = totals;
  batches_ = 0;
  ratio_sum_ = 0;
  ratios_ = 0;
  lag_sum_ = 0;
  return line;
}

}  // namespace emplace
