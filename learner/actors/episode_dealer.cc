#include "learner/actors/episode_dealer.h"

#include <algorithm>

#include "common/error.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

// An episode is overdue after some times what all of the version before took, but no sooner than this: to play one
// twice costs more than to wait a little.
constexpr milliseconds kSoonestOverdue(500);
constexpr int kTimesTheLast = 4;
constexpr milliseconds kFirstOverdue(10'000);  // While nothing is known.

}  // namespace

EpisodeDealer::EpisodeDealer(PolicyVersion first, int64_t episodes)
    : version_(first),
      episodes_(static_cast<size_t>(episodes)),
      missing_(static_cast<size_t>(episodes)),
      overdue_(kFirstOverdue) {
  EMPLACE_CHECK(episodes > 0);
}

bool EpisodeDealer::IsOpen(const Episode& episode, Time now) const {
  return !episode.here && (!episode.dealt || now - episode.time >= overdue_);
}

std::vector<uint32_t> EpisodeDealer::Deal(const ActorKey& actor, PolicyVersion version, int64_t actors, Time now) {
  const MutexLock lock(mu_);
  std::vector<uint32_t> dealt;
  if (version != version_) return dealt;
  const size_t among = static_cast<size_t>(std::max<int64_t>(1, actors));
  const size_t share = (episodes_.size() + among - 1) / among;
  for (size_t i = 0; i < episodes_.size() && dealt.size() < share; ++i) {
    Episode& episode = episodes_[i];
    if (!IsOpen(episode, now)) continue;
    if (!began_) began_ = now;
    episode = {.dealt = true, .here = false, .actor = actor, .time = now};
    dealt.push_back(static_cast<uint32_t>(i));
  }
  return dealt;
}

void EpisodeDealer::TakeBack(const ActorKey& actor) {
  const MutexLock lock(mu_);
  for (Episode& episode : episodes_) {
    if (episode.dealt && episode.actor == actor) episode.dealt = false;
  }
}

bool EpisodeDealer::Accept(const Trajectory& trajectory, Time now) {
  const MutexLock lock(mu_);
  if (trajectory.policy_version != version_ || trajectory.index >= episodes_.size() ||
      episodes_[trajectory.index].here) {
    return false;
  }
  episodes_[trajectory.index].here = true;
  if (--missing_ > 0) return true;
  ++version_;
  missing_ = episodes_.size();
  std::fill(episodes_.begin(), episodes_.end(), Episode());
  overdue_ =
      std::max<std::chrono::steady_clock::duration>(kSoonestOverdue, kTimesTheLast * (now - began_.value_or(now)));
  began_.reset();
  return true;
}

}  // namespace emplace
