#include "learner/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "common/strings.h"

namespace emplace {
namespace {

std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string Format(const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof(buffer), format, arguments);
  va_end(arguments);
  return buffer;
}

std::string Clock(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(0.0, seconds));
  return Format("%lld:%02lld:%02lld", static_cast<long long>(whole / 3600), static_cast<long long>(whole / 60 % 60),
                static_cast<long long>(whole % 60));
}

}  // namespace

Progress::Progress(int64_t iterations, double max_minutes, int64_t updates_before, double seconds_before)
    : iterations_(iterations),
      max_seconds_(60 * max_minutes),
      updates_before_(updates_before),
      seconds_before_(seconds_before),
      last_line_(std::chrono::steady_clock::now()) {}

void Progress::AddEpisode(double ratio, int64_t lag) {
  lag_min_ = episodes_ == 0 ? lag : std::min(lag_min_, lag);
  lag_max_ = episodes_ == 0 ? lag : std::max(lag_max_, lag);
  lag_sum_ += lag;
  ratio_sum_ += ratio;
  best_ratio_ = best_ratio_ == 0 ? ratio : std::min(best_ratio_, ratio);
  ++episodes_;
}

void Progress::AddStages(const StageSeconds& stages) {
  stages_.waiting += stages.waiting;
  stages_.updating += stages.updating;
  stages_.other += stages.other;
}

std::string Progress::LimitingStage(double interval_s, const FrontEndStats& front_end) const {
  // A learner that waits is starved, by the actors or, when they are held up with full queues, by the network; a learner
  // that does not wait is what everything else waits for.
  if (stages_.waiting < 0.2 * interval_s) return "learner";
  const bool arriving = front_end.blocked_s > last_stats_.blocked_s;
  return arriving ? "network" : "actors";
}

std::string Progress::TimeLeft(int64_t updates, double seconds) const {
  const double here_s = seconds - seconds_before_;
  double left_s = -1;
  if (updates > updates_before_) {
    left_s = here_s / static_cast<double>(updates - updates_before_) * static_cast<double>(iterations_ - updates);
  }
  if (max_seconds_ > 0) left_s = left_s < 0 ? max_seconds_ - seconds : std::min(left_s, max_seconds_ - seconds);
  return left_s < 0 ? "?" : Clock(left_s);
}

std::string Progress::Line(int64_t updates, double seconds, const FrontEndStats& front_end) {
  const auto now = std::chrono::steady_clock::now();
  const double interval_s = std::max(1e-9, std::chrono::duration<double>(now - last_line_).count());
  const double episodes_per_s = static_cast<double>(front_end.episodes - last_stats_.episodes) / interval_s;
  const double steps_per_s = static_cast<double>(front_end.steps - last_stats_.steps) / interval_s;
  std::string line = Format("iteration %lld/%lld | %.1f episodes/s %.0f steps/s | ", static_cast<long long>(updates),
                            static_cast<long long>(iterations_), episodes_per_s, steps_per_s);
  if (episodes_ > 0) {
    line += Format("makespan / one device: mean %.3f best %.3f | lag %lld/%.1f/%lld", ratio_sum_ / static_cast<double>(episodes_),
                   best_ratio_, static_cast<long long>(lag_min_), static_cast<double>(lag_sum_) / static_cast<double>(episodes_),
                   static_cast<long long>(lag_max_));
  } else {
    line += "no episode trained on yet";
  }
  line += Format(" | limited by %s | actors %lld (%lld gone) | %s left", LimitingStage(interval_s, front_end).c_str(),
                 static_cast<long long>(front_end.actors_alive), static_cast<long long>(front_end.actors_gone),
                 TimeLeft(updates, seconds).c_str());
  last_line_ = now;
  last_stats_ = front_end;
  stages_ = {};
  episodes_ = 0;
  ratio_sum_ = 0;
  lag_sum_ = 0;
  return line;
}

}  // namespace emplace
