#include "tests/cluster/load/light_actor.h"

#include <algorithm>
#include <random>
#include <utility>

#include "common/error.h"
#include "common/files/content_hash.h"
#include "common/strings.h"
#include "policy/config/run_config.h"

namespace emplace::load {
namespace {

using std::chrono::milliseconds;

// As actor/conversation.cc and actor/trajectory_sender.cc have them.
constexpr milliseconds kFirstHelloWait(1000);
constexpr milliseconds kLastHelloWait(8000);
constexpr milliseconds kWeightsWait(1000);
constexpr int kSocketQueue = 4;

}  // namespace

LightActor::LightActor(const std::string& learner, std::string name, const std::optional<ActorKeys>& keys,
                       SharedNetwork& control, SharedNetwork& trajectories, ActorObserver& observer)
    : name_(std::move(name)),
      nonce_(std::random_device()()),
      keys_(keys),
      trajectories_network_(trajectories),
      observer_(observer),
      endpoint_(learner, keys, &control),
      hello_wait_(kFirstHelloWait) {}

void LightActor::SendDue(Clock::time_point now) {
  if (!welcome_) {
    if (now >= next_hello_ && endpoint_.Send(Hello{kProtocolVersion, name_, nonce_})) {
      next_hello_ = now + hello_wait_;
      hello_wait_ = std::min(2 * hello_wait_, kLastHelloWait);
    }
    return;
  }
  if (now >= next_heartbeat_) {
    endpoint_.Send(Heartbeat{welcome_->actor, welcome_->session, produced_, version_.value_or(0)});
    next_heartbeat_ = now + heartbeat_;
  }
  if ((!version_ || wanted_ > *version_) && now >= next_request_) {
    endpoint_.Send(WeightsRequest{welcome_->actor});
    next_request_ = now + kWeightsWait;
  }
}

void LightActor::ReceiveAll() {
  while (auto received = endpoint_.Receive(milliseconds(0))) {
    std::visit([this](auto&& message) { Handle(std::forward<decltype(message)>(message)); }, *std::move(received));
  }
}

bool LightActor::Send(Trajectory& episode) {
  episode.actor = welcome_->actor;
  episode.sequence = produced_ + 1;
  episode.policy_version = *version_;
  if (!trajectories_->Send(episode, milliseconds(0))) return false;
  ++produced_;
  return true;
}

void LightActor::CloseTrajectories(milliseconds timeout) {
  if (trajectories_) trajectories_->Close(timeout);
}

void LightActor::SayGoodbye() {
  if (welcome_) endpoint_.Send(Goodbye{welcome_->actor, produced_});
}

void LightActor::Handle(Welcome welcome) {
  if (welcome_) return;  // Said twice.
  trajectories_.emplace(endpoint_.OnLearnersHost(welcome.trajectories_endpoint), kSocketQueue, keys_,
                        &trajectories_network_);
  produced_ = welcome.first_sequence - 1;
  const RunConfig config = ParseRunConfig(welcome.config_yaml, "configuration from the learner", {});
  heartbeat_ = std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(config.actor.heartbeat_s));
  welcome_ = std::move(welcome);
  next_heartbeat_ = next_request_ = Clock::now();
  SendDue(next_request_);
}

void LightActor::Handle(const Notice& notice) {
  if (!welcome_) return;
  if (notice.session != welcome_->session)
    throw RunFailed("the learner has been replaced, expected the same one all the time");
  observer_.OnNotice(notice.version);
  Want(notice.version);
}

void LightActor::Handle(const WeightsReply& reply) {
  if (version_ && reply.version <= *version_) return;
  if (Hash64(reply.blob) != reply.hash) throw RunFailed(StrCat("weights of version ", reply.version, " are damaged"));
  version_ = reply.version;
  next_request_ = Clock::now();
  observer_.OnWeights(name_, reply);
  SendDue(next_request_);  // Newer ones may have been announced meanwhile.
}

void LightActor::Handle(const Refusal& refusal) { throw RunFailed(StrCat("the learner refused: ", refusal.reason)); }

// Asks at once, as an actor's control thread does.
void LightActor::Want(PolicyVersion version) {
  wanted_ = std::max(wanted_, version);
  SendDue(Clock::now());
}

}  // namespace emplace::load
