// For tests of what a learner says to its actors: a front end with all its parts, and actors that are played by hand.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "common/wire/actor_endpoint.h"
#include "learner/actors/actor_sessions.h"
#include "learner/actors/weights_broadcast.h"
#include "learner/intake/best_placements.h"
#include "learner/intake/placement_episodes.h"
#include "learner/intake/trajectory_intake.h"
#include "learner/ledger.h"
#include "learner/pipeline/front_end.h"
#include "learner/run_clock.h"
#include "learner/stage_clock.h"
#include "policy/config/run_config.h"
#include "policy/placeto/placeto_kind.h"
#include "tests/learner/episodes.h"

namespace emplace {

inline constexpr std::chrono::milliseconds kSoon(10);
inline constexpr int kTries = 1000;  // Times kSoon: how long something may take that must happen.

inline bool Await(const std::function<bool()>& condition) {
  for (int i = 0; i < kTries; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(kSoon);
  }
  return false;
}

// An actor, played by hand: its two connections and its numbering.
class HandPlayedActor {
 public:
  HandPlayedActor(const std::string& address, std::string name, uint64_t nonce,
                  const std::optional<ActorKeys>& keys = {})
      : keys_(keys), control_(address, keys), name_(std::move(name)), nonce_(nonce) {}

  template <typename Reply>
  Reply Ask(const ActorMessage& question) {
    for (int i = 0; i < kTries; ++i) {
      // Asked again now and then: before it is connected, nothing is sent.
      if (i % 50 == 0 && !control_.Send(question)) --i;
      if (std::optional<Reply> reply = ReceiveIf<Reply>()) return *std::move(reply);
    }
    ADD_FAILURE() << name_ << " got no answer";
    return {};
  }

  void Measure() { measures_ = true; }

  // The next message, if it is of this type and comes soon.
  template <typename Wanted>
  std::optional<Wanted> ReceiveIf() {
    auto received = control_.Receive(kSoon);
    if (!received) return std::nullopt;
    if (auto* const wanted = std::get_if<Wanted>(&*received)) return std::move(*wanted);
    return std::nullopt;
  }

  template <typename Wanted>
  bool Receives() {
    for (int i = 0; i < kTries; ++i) {
      if (ReceiveIf<Wanted>()) return true;
    }
    return false;
  }

  Welcome Join(const std::vector<Incarnation>& earlier = {}) {
    Welcome welcome = Ask<Welcome>(Hello{kProtocolVersion, name_, nonce_, earlier, measures_});
    key_ = welcome.actor;
    session_ = welcome.session;
    trajectories_.emplace(welcome.trajectories_endpoint, 4, keys_);
    return welcome;
  }

  Notice Beat() { return Ask<Notice>(Heartbeat{key_, session_, produced_, 0}); }
  void BeatOnce() { control_.Send(Heartbeat{key_, session_, produced_, 0}); }

  // Sends `episode` as this client's next one.
  bool Produce(Trajectory episode, std::chrono::milliseconds timeout = std::chrono::milliseconds(10'000)) {
    episode.actor = key_;
    episode.sequence = produced_ + 1;
    if (!trajectories_->Send(episode, timeout)) return false;
    ++produced_;
    return true;
  }
  bool Repeat(Trajectory episode, uint64_t sequence) { return SendAs(key_, std::move(episode), sequence); }
  // Sends an episode that another incarnation of this process, say, has played.
  bool SendAs(const ActorKey& actor, Trajectory episode, uint64_t sequence) {
    episode.actor = actor;
    episode.sequence = sequence;
    return trajectories_->Send(episode, std::chrono::milliseconds(10'000));
  }

  // A clean end: all that was produced leaves first.
  void Leave() {
    trajectories_->Close(std::chrono::milliseconds(10'000));
    control_.Send(Goodbye{key_, produced_});
  }

  ActorEndpoint& control() { return control_; }
  const ActorKey& key() const { return key_; }
  uint64_t session() const { return session_; }
  uint64_t produced() const { return produced_; }

 private:
  const std::optional<ActorKeys> keys_;
  ActorEndpoint control_;
  const std::string name_;
  const uint64_t nonce_;
  ActorKey key_;
  uint64_t session_ = 0;
  uint64_t produced_ = 0;
  bool measures_ = false;
  std::optional<TrajectorySocket> trajectories_;
};

// A front end with its parts, as a run has them.
class WholeFrontEnd {
 public:
  WholeFrontEnd(const std::vector<PlacementTask>& tasks, const RunConfig& config, Ledger& ledger,
                BestPlacements& placements, std::shared_ptr<const PolicyWeights> weights, StageClocks& clocks,
                const ActorSessions::Extras& extras = {})
      : sessions_(tasks, config, ledger, extras),
        weights_(std::move(weights), sessions_),
        rules_(tasks, config, placements),
        intake_(rules_, tasks, config, ledger, sessions_, clocks[Stage::kCheck]),
        front_end_(config.network, sessions_, weights_, intake_, clocks) {}

  uint64_t session() const { return sessions_.session(); }
  void Publish(std::shared_ptr<const PolicyWeights> weights) { weights_.Publish(std::move(weights)); }
  const std::string& address() const { return front_end_.address(); }
  std::optional<Episode> Pop(std::chrono::milliseconds timeout) { return front_end_.Pop(timeout); }
  FrontEndStats stats() const { return front_end_.stats(); }
  void Finish(std::chrono::milliseconds timeout) { front_end_.Finish(timeout); }

 private:
  ActorSessions sessions_;
  WeightsBroadcast weights_;
  const PlacementEpisodes rules_;
  TrajectoryIntake intake_;
  FrontEnd front_end_;
};

// A learner's tasks, weights and books, and episodes for actors to send.
class FrontEndFixture : public testing::Test {
 protected:
  FrontEndFixture() : tasks_(TwoDeviceTasks(1, 3)), weights_(std::make_shared<const PolicyWeights>(SmallPolicy(1, 5))) {
    config_.learner.buffer = 64;
    config_.learner.actor_timeout_s = 60;
    episodes_ = Episodes(tasks_, config_.environment, *weights_, 8, Rng(2));
  }

  std::unique_ptr<WholeFrontEnd> Start(const ActorSessions::Extras& extras = {}) {
    return std::make_unique<WholeFrontEnd>(tasks_, config_, ledger_, placements_, weights_, clocks_, extras);
  }
  const Trajectory& episode(uint64_t i) const { return episodes_[i % episodes_.size()]; }

  const std::vector<PlacementTask> tasks_;
  const std::shared_ptr<const PolicyWeights> weights_;
  RunConfig config_;
  std::vector<Trajectory> episodes_;
  Ledger ledger_;
  const RunClock clock_{0};
  BestPlacements placements_{tasks_, PlacetoKind(), config_.environment, clock_};
  StageClocks clocks_;
};

}  // namespace emplace
