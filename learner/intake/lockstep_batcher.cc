#include "learner/intake/lockstep_batcher.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "common/error.h"

namespace emplace {
namespace {

constexpr std::chrono::milliseconds kWait(100);  // Between looks at the stop token.

}  // namespace

LockstepBatcher::LockstepBatcher(Batcher::Source source, const BatchPlan& plan, EpisodeDealer& dealer, Ledger& ledger,
                                 StageClock& clock)
    : source_(std::move(source)), plan_(plan), dealer_(dealer), ledger_(ledger), clock_(clock), next_(plan.first) {
  EMPLACE_CHECK(plan.episodes > 0);
}

std::optional<Batch> LockstepBatcher::Next(const std::stop_token& stop) {
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
    if (dealer_.Accept(episode->trajectory, std::chrono::steady_clock::now())) {
      episodes.push_back(*std::move(episode));
    } else {
      ledger_.CountStale(episode->trajectory.actor);
    }
  }
  std::sort(episodes.begin(), episodes.end(),
            [](const Episode& a, const Episode& b) { return a.trajectory.index < b.trajectory.index; });
  return ToBatch(std::move(episodes), next_++);
}

}  // namespace emplace
