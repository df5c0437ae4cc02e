// Who plays what in lockstep: every update trains on the same episodes of its own version, whoever plays them.
//
// The episodes of a version are numbered. An actor that has the version's weights asks and gets its share; what an
// actor that is gone has not brought is dealt again at once, and what is long overdue to whoever asks next. Which copy
// of an episode comes first does not matter: all are equal, bit for bit.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/mutex.h"
#include "common/trajectory.h"

namespace emplace {

// Any thread may call its functions.
class EpisodeDealer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `episodes` of each version, from version `first` on. REQUIRES: episodes > 0.
  EpisodeDealer(PolicyVersion first, int64_t episodes);

  // The episodes that this actor is to play now, one share of `actors`; none when all are under way, or another
  // version's are asked for.
  std::vector<uint32_t> Deal(const ActorKey& actor, PolicyVersion version, int64_t actors, Time now);
  // What it has not brought is open again.
  void TakeBack(const ActorKey& actor);

  // An episode has come and is sound. False: it is of another version, there is no such episode, or it has come before.
  // Once all have come, the next version's are dealt.
  bool Accept(const Trajectory& trajectory, Time now);

 private:
  struct Episode {
    bool dealt = false;
    bool here = false;
    ActorKey actor;  // The last one to whom it was dealt, and
    Time time;       // when.
  };
  bool IsOpen(const Episode& episode, Time now) const EMPLACE_REQUIRES(mu_);

  Mutex mu_;
  PolicyVersion version_ EMPLACE_GUARDED_BY(mu_);
  std::vector<Episode> episodes_ EMPLACE_GUARDED_BY(mu_);
  size_t missing_ EMPLACE_GUARDED_BY(mu_);
  std::optional<Time> began_ EMPLACE_GUARDED_BY(mu_);                    // When the first of this version was dealt.
  std::chrono::steady_clock::duration overdue_ EMPLACE_GUARDED_BY(mu_);  // After so long an episode is dealt once more.
};

}  // namespace emplace
