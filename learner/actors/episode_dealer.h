// Decides which actor plays which episode in lockstep, where every update trains on all episodes of its own version.
//
// The episodes of a version are numbered. An actor that has the version's weights asks for work and gets a share of the
// numbers. The numbers that a lost actor still owes are dealt again at once; a number that is long overdue is dealt to
// the actor that asks next. Copies of an episode are equal, bit for bit, so it does not matter which one arrives first.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/threads/mutex.h"
#include "common/trajectory.h"

namespace emplace {

// Any thread may call any function.
class EpisodeDealer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Each version from `first` on has `episodes` episodes. REQUIRES: episodes > 0.
  EpisodeDealer(PolicyVersion first, int64_t episodes);

  // Returns the numbers of the episodes that this actor is to play now, its share among `actors` actors. Empty: all are
  // dealt, or `version` is not the current one.
  std::vector<uint32_t> Deal(const ActorKey& actor, PolicyVersion version, int64_t actors, Time now);
  // Makes the episodes that this actor still owes free for other actors.
  void TakeBack(const ActorKey& actor);

  // Notes that a checked episode has come. Returns false when it is of another version, has no valid number, or has
  // come before. When all episodes have come, those of the next version are dealt.
  bool Accept(const Trajectory& trajectory, Time now);

 private:
  struct Episode {
    bool dealt = false;
    bool here = false;
    ActorKey actor;  // The last actor that it was dealt to.
    Time time;       // When it was last dealt.
  };
  bool IsOpen(const Episode& episode, Time now) const EMPLACE_REQUIRES(mu_);

  Mutex mu_;
  PolicyVersion version_ EMPLACE_GUARDED_BY(mu_);
  std::vector<Episode> episodes_ EMPLACE_GUARDED_BY(mu_);
  size_t missing_ EMPLACE_GUARDED_BY(mu_);
  std::optional<Time> began_ EMPLACE_GUARDED_BY(mu_);  // When the first episode of this version was dealt.
  // An episode that is not back after this time is dealt again.
  std::chrono::steady_clock::duration overdue_ EMPLACE_GUARDED_BY(mu_);
};

}  // namespace emplace
