// Who of the actors is there: those that have joined this learner process, when each was last heard, and which are
// gone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "common/trajectory.h"
#include "common/wire/learner_endpoint.h"

namespace emplace {

// For one thread.
class ActorRegistry {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Limits {
    double silent_s = 10;    // Silent for longer: gone.
    double hang_s = 0;       // See FindHang; 0: nobody looks.
    int64_t max_actors = 1;  // That there is room for.
  };
  // `on_gone` is told of each actor that leaves, falls silent or is replaced.
  ActorRegistry(const Limits& limits, std::function<void(const ActorKey&)> on_gone);

  // Its earlier incarnations are gone with that, and it takes their place. False: there is no room for one more.
  bool Join(const ActorKey& actor, const PeerId& peer, const std::string& name, Time now);
  // It is there, over this connection. False: nobody of this key has joined.
  bool MarkHeard(const ActorKey& actor, const PeerId& peer, Time now);
  // It has ended. False: as before.
  bool Leave(const ActorKey& actor);
  bool HasJoined(const ActorKey& actor) const { return actors_.contains(actor); }

  // Counts those as gone that have been silent for too long. To be called often.
  void ExpireSilent(Time now);
  int64_t alive() const { return alive_; }
  int64_t capacity() const { return limits_.max_actors; }
  int64_t gone() const { return std::ssize(actors_) - alive_; }
  // Those that are not gone.
  void ForEachAlive(const std::function<void(const ActorKey&, const PeerId&)>& visit) const;

  // Work of an actor has come, or none could.
  void NoteWork(Time now) { last_work_ = now; }
  // Actors that answer but finish nothing hang, and when none is left of those that came, nothing will come either:
  // what there is to say when that has been so for too long. Nobody has come yet: nullopt.
  std::optional<std::string> FindHang(Time now);

 private:
  struct Actor {
    PeerId peer;
    std::string name;
    Time last_heard;
    bool gone = false;
  };
  void CountAsGone(const ActorKey& key, Actor& actor);

  const Limits limits_;
  const std::function<void(const ActorKey&)> on_gone_;
  std::map<ActorKey, Actor> actors_;
  int64_t alive_ = 0;  // Of them.
  Time last_work_;
  Time last_hang_check_;  // For a hang.
};

}  // namespace emplace
