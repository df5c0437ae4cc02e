// The actors that have joined this learner process: when each was last heard, and whether it is gone. An actor is gone
// when it has left, has been silent for too long, or has been replaced.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/trajectory.h"
#include "common/wire/learner_endpoint.h"

namespace emplace {

// Not thread-safe.
class ActorRegistry {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Limits {
    double silent_s = 10;    // An actor that is silent for more seconds is gone.
    double hang_s = 0;       // Seconds, see FindHang; 0: FindHang finds nothing.
    int64_t max_actors = 1;  // The most actors that may be alive at a time.
  };
  // `on_gone` is called for each actor that leaves, falls silent or is replaced.
  ActorRegistry(const Limits& limits, std::function<void(const ActorKey&)> on_gone);

  // Whether an actor of this name can join: there is room for one more, or it replaces one.
  bool HasRoomFor(const std::string& name) const;
  // Adds an actor, which replaces its earlier incarnations. Returns false when there is no room for one more.
  // measures: its rewards are measured on hardware.
  bool Join(const ActorKey& actor, const PeerId& peer, const std::string& name, Time now, bool measures = false);
  // Notes that the actor was heard over the connection `peer`. Returns false when it has not joined.
  bool MarkHeard(const ActorKey& actor, const PeerId& peer, Time now);
  // Notes for how long the actor says its measuring windows were open since it joined; no more than there was time.
  void NoteWindows(const ActorKey& actor, double window_s, Time now);
  // Whether the actor has joined as one that measures. For an incarnation that has joined an earlier learner only: what
  // the latest incarnation of its id has joined as. nullopt: no actor of this id has joined.
  std::optional<bool> Measures(const ActorKey& actor) const;
  // The actors that measure and are not gone.
  std::vector<ActorKey> Measuring() const;
  int64_t num_measuring() const;  // Their number.
  // Whether an actor that measures has ever joined.
  bool any_measures() const { return any_measures_; }
  // Seconds for which windows were open, over all actors, gone ones included; and the seconds of which they have told
  // so.
  double window_s() const;
  double measuring_s() const;
  // Calls `visit` for this actor if it is not gone.
  void WithPeerOf(const ActorKey& actor, const std::function<void(const PeerId&)>& visit) const;
  // Notes that the actor has ended. Returns false when it has not joined.
  bool Leave(const ActorKey& actor);
  bool HasJoined(const ActorKey& actor) const { return actors_.contains(actor); }

  // Counts the actors as gone that have been silent for more than silent_s. It has to be called often.
  void ExpireSilent(Time now);
  int64_t alive() const { return alive_; }
  int64_t capacity() const { return limits_.max_actors; }
  int64_t gone() const { return std::ssize(actors_) - alive_; }
  // Calls `visit` for each actor that is not gone.
  void ForEachAlive(const std::function<void(const ActorKey&, const PeerId&)>& visit) const;

  // Notes that an episode has come, or that none could come.
  void NoteWork(Time now) { last_work_ = now; }
  // Returns an error message when actors have joined but no episode has come for more than hang_s: either they hang
  // though they answer, or all of them are gone. nullopt: there is no hang, or no actor has joined yet. It has to be
  // called often.
  std::optional<std::string> FindHang(Time now);

 private:
  struct Actor {
    PeerId peer;
    std::string name;
    Time last_heard;
    bool gone = false;
    bool measures = false;
    Time joined = {};
    double window_s = 0;     // Told by heartbeats,
    double measuring_s = 0;  // the last of which came so long after it joined.
  };
  void CountAsGone(const ActorKey& key, Actor& actor);

  const Limits limits_;
  const std::function<void(const ActorKey&)> on_gone_;
  std::map<ActorKey, Actor> actors_;
  bool any_measures_ = false;
  int64_t alive_ = 0;  // Number of actors that are not gone.
  Time last_work_;
  Time last_hang_check_;  // When FindHang was last called.
};

}  // namespace emplace
