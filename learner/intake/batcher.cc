#include "learner/intake/batcher.h"

#include <algorithm>
#include <utility>

#include "common/error.h"

namespace emplace {
namespace {

constexpr std::chrono::milliseconds kWait(100);  // Between looks at the stop token.

}  // namespace

Batcher::Batcher(Source source, const BatchPlan& plan, Ledger& ledger, StageClock& clock, EpisodeDealer* dealer)
    : source_(std::move(source)), plan_(plan), ledger_(ledger), clock_(clock), dealer_(dealer), next_(plan.first) {
  EMPLACE_CHECK(plan.episodes > 0);
}

std::optional<Batch> Batcher::Next(const std::stop_token& stop) {
  if (next_ >= plan_.end) return std::nullopt;
  std::vector<Episode> episodes;
  while (std::ssize(episodes) < plan_.episodes) {
    if (stop.stop_requested()) {
      for (const Episode& episode : episodes) ledger_.CountStale(episode.trajectory.actor);
      return std::nullopt;
    }
    clock_.Waiting();
    std::optional<Episode> episode = source_(kWait);
    clock_.Busy();
    if (!episode) continue;
    if (Admits(episode->trajectory)) {
      episodes.push_back(*std::move(episode));
    } else {
      ledger_.CountStale(episode->trajectory.actor);
    }
  }
  if (dealer_ != nullptr) {
    std::sort(episodes.begin(), episodes.end(),
              [](const Episode& a, const Episode& b) { return a.trajectory.index < b.trajectory.index; });
  }
  Batch batch;
  batch.version = next_++;
  batch.stats = StatsOf(episodes, batch.version);
  for (Episode& episode : episodes) batch.trajectories.push_back(std::move(episode.trajectory));
  return batch;
}

bool Batcher::Admits(const Trajectory& trajectory) {
  if (dealer_ != nullptr) return dealer_->Accept(trajectory, std::chrono::steady_clock::now());
  newest_received_ = std::max(newest_received_, trajectory.policy_version);
  return !IsStale(next_, trajectory.policy_version, newest_received_, plan_.max_lag);
}

void CountStale(const Batch& batch, Ledger& ledger) {
  for (const Trajectory& trajectory : batch.trajectories) ledger.CountStale(trajectory.actor);
}

}  // namespace emplace
