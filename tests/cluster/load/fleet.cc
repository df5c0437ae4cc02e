#include "tests/cluster/load/fleet.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "actor/rollout.h"
#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"
#include "policy/policy_weights.h"

namespace emplace::load {
namespace {

using std::chrono::milliseconds;

constexpr size_t kEpisodes = 64;  // Different ones.
constexpr milliseconds kPoll(5);
constexpr milliseconds kRoundEvery(20);
constexpr milliseconds kDrain(8000);  // For what is queued at the end; the learner waits for ten seconds.
constexpr double kMostDebt_s = 1;     // Of episodes that are overdue; what is beyond is never sent.

int64_t MicrosNow() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

Fleet::Fleet(const FleetOptions& options)
    : options_(options),
      records_(options.records),
      control_(std::make_unique<SharedNetwork>(options.actors + 8)),
      trajectories_(std::make_unique<SharedNetwork>(options.actors + 8)) {
  if (!records_) throw RunFailed(StrCat(options.records, ": cannot be written"));
  ActorObserver& observer = *this;
  for (int i = 0; i < options.actors; ++i) {
    actors_.push_back(std::make_unique<LightActor>(options.learner, StrCat(options.name, "-", i), options.keys,
                                                   *control_, *trajectories_, observer));
  }
}

Fleet::~Fleet() = default;

FleetTotals Fleet::Run(const std::atomic<bool>& interrupted) {
  std::vector<ActorEndpoint*> endpoints;
  for (const auto& actor : actors_) endpoints.push_back(&actor->endpoint());
  Clock::time_point next_round = Clock::now();
  while (!interrupted && !ToldToStop()) {
    const Clock::time_point now = Clock::now();
    if (now >= next_round) {
      for (const auto& actor : actors_) actor->SendDue(now);
      next_round = now + kRoundEvery;
    }
    for (const size_t i : ActorEndpoint::WaitForAny(endpoints, kPoll)) {
      LightActor& actor = *actors_[i];
      const bool was_ready = actor.ready();
      actor.ReceiveAll();
      if (i != 0 && actor.welcome()) actor.ForgetGraphs();
      if (!was_ready && actor.ready()) CountReady();
    }
    if (episodes_.empty()) PrepareEpisodes();
    SendDueEpisodes(Clock::now());
  }
  Leave();
  return totals_;
}

bool Fleet::ToldToStop() const {
  return std::any_of(actors_.begin(), actors_.end(), [](const auto& actor) { return actor->told_to_stop(); });
}

void Fleet::CountReady() {
  ++totals_.joined;
  totals_.join_s = std::chrono::duration<double>(Clock::now() - begin_).count();
  if (totals_.joined == std::ssize(actors_))
    LogInfo(StrCat("all ", totals_.joined, " actors are there after ", totals_.join_s, " s"));
}

void Fleet::OnNotice(PolicyVersion version) {
  if (version <= newest_notice_) return;
  newest_notice_ = version;
  records_ << "notice," << version << ',' << options_.name << ',' << MicrosNow() << '\n';
}

void Fleet::OnWeights(const std::string& actor, const WeightsReply& weights) {
  ++totals_.weights;
  totals_.weights_bytes = std::ssize(weights.blob);
  if (!weights_)
    weights_ = std::make_shared<const PolicyWeights>(ParsePolicy(weights.blob, "weights from the learner"));
  records_ << "weights," << weights.version << ',' << actor << ',' << MicrosNow() << '\n';
}

// Plays once what all of them send.
void Fleet::PrepareEpisodes() {
  LightActor& first = *actors_[0];
  if (!first.ready()) return;
  Welcome welcome = *first.welcome();
  const Session session = UnpackWelcome(std::move(welcome));
  Rollout rollout(session.tasks, session.config.environment, session.config.actor.episodes_in_flight, session.actor,
                  Rng(1).Fork(options_.name));
  rollout.SetWeights(weights_);
  while (episodes_.size() < kEpisodes) {
    for (Trajectory& episode : rollout.Advance()) episodes_.push_back(std::move(episode));
  }
  first.ForgetGraphs();
}

void Fleet::SendDueEpisodes(Clock::time_point now) {
  if (episodes_.empty() || totals_.joined < std::ssize(actors_)) {
    last_due_ = now;
    return;
  }
  due_ += options_.rate * std::chrono::duration<double>(now - last_due_).count();
  last_due_ = now;
  due_ = std::min(due_, options_.rate * kMostDebt_s);
  for (; due_ >= 1; due_ -= 1) SendOne();
}

// Each in turn; one that is not there, or whose queue is full, is passed over.
void Fleet::SendOne() {
  for (size_t tries = 0; tries < actors_.size(); ++tries) {
    LightActor& actor = *actors_[next_actor_];
    next_actor_ = (next_actor_ + 1) % actors_.size();
    if (!actor.ready()) continue;
    if (actor.Send(episodes_[next_episode_])) {
      next_episode_ = (next_episode_ + 1) % episodes_.size();
      return;
    }
    ++totals_.held_back;
  }
}

// First the episodes, then the goodbyes: the learner expects nothing after these.
void Fleet::Leave() {
  for (const auto& actor : actors_) actor->CloseTrajectories(kDrain);
  trajectories_.reset();
  for (const auto& actor : actors_) {
    totals_.produced += actor->produced();
    actor->SayGoodbye();
  }
  actors_.clear();
  control_.reset();
}

}  // namespace emplace::load
