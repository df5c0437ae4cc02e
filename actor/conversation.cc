#include "actor/conversation.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "actor/session.h"
#include "common/error.h"
#include "common/files/content_hash.h"
#include "common/log.h"
#include "common/rng.h"
#include "common/strings.h"
#include "common/trajectory.h"
#include "common/wire/actor_endpoint.h"
#include "common/wire/messages/messages.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReceiveWait(20);       // How soon the thread notices its end, or a learner that came.
constexpr milliseconds kFirstHelloWait(1000);  // Before a heard Hello is repeated; doubles up to
constexpr milliseconds kLastHelloWait(8000);   // this. A Welcome carries every graph.
constexpr milliseconds kWeightsWait(1000);     // Before an unanswered request for weights is repeated.
constexpr milliseconds kWorkWait(50);  // Before a request for work is repeated that was not answered, or by none.
constexpr size_t kMostEarlier = 8;     // Incarnations that a Hello tells of; a queue does not last for more.

milliseconds Milliseconds(double seconds) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(seconds));
}

// Belongs to the thread that made it, as its socket does.
class Conversation {
 public:
  // REQUIRES: both outlive the conversation.
  Conversation(const ConversationOptions& options, ControlExchange& exchange);

  // One round: says what is due, hears what has come. Waits only for a moment.
  void RunOnce();

  void Send(const ActorMessage& message) { endpoint_.Send(message); }

 private:
  using Clock = std::chrono::steady_clock;

  void SendDue(Clock::time_point now);
  void SayHello(Clock::time_point now);
  void Handle(Welcome welcome);
  void Handle(const Notice& notice);
  void Handle(const WeightsReply& reply);
  void Handle(const Work& work);
  void Handle(MeasureRequest request);
  void Handle(const Refusal& refusal);
  void Handle(const Stop& stop);
  void WantVersion(PolicyVersion version);

  const ConversationOptions& options_;
  ControlExchange& exchange_;
  ActorEndpoint endpoint_;
  std::chrono::milliseconds patience_;
  Clock::time_point last_heard_ = Clock::now();
  std::shared_ptr<const Session> session_;  // nullptr: not welcomed.
  uint64_t nonce_;
  std::vector<Incarnation> earlier_;  // With learners before; the latest first.
  std::chrono::milliseconds hello_wait_;
  Clock::time_point next_hello_;
  Clock::time_point next_heartbeat_;
  std::optional<PolicyVersion> version_;  // Newest here.
  PolicyVersion newest_announced_ = 0;
  bool weights_wanted_ = false;
  Clock::time_point next_request_;
  Work work_;  // All that was given of its version.
  bool work_wanted_ = false;
  Clock::time_point next_work_request_;
};

Conversation::Conversation(const ConversationOptions& options, ControlExchange& exchange)
    : options_(options),
      exchange_(exchange),
      endpoint_(options.learner_address, options.keys),
      patience_(options.patience),
      nonce_(UnforeseenNumber()),
      hello_wait_(kFirstHelloWait) {}

void Conversation::RunOnce() {
  if (const std::optional<KeyProblem> problem = endpoint_.NextKeyProblem()) {
    const std::string reason =
        StrCat(options_.learner_address, ": the learner refuses: ", problem->why, "; see emplace keygen");
    if (problem->final) {
      exchange_.End({true, Error::Kind::kBadInput, reason});
      return;
    }
    LogWarning(reason);
  }
  SendDue(Clock::now());
  auto received = endpoint_.Receive(kReceiveWait);
  if (!received) return;
  last_heard_ = Clock::now();
  // Taken apart by value: a Welcome is large, and its parts are freed as they are used.
  std::visit([this](auto message) { Handle(std::move(message)); }, *std::move(received));
}

void Conversation::SayHello(Clock::time_point now) {
  if (!endpoint_.Send(Hello{kProtocolVersion, options_.name, nonce_, earlier_, options_.measures})) return;
  next_hello_ = now + hello_wait_;
  hello_wait_ = std::min(2 * hello_wait_, kLastHelloWait);
}

void Conversation::SendDue(Clock::time_point now) {
  if (now - last_heard_ > patience_) {
    exchange_.End({true, Error::Kind::kRunFailed,
                   StrCat(options_.learner_address, ": the learner has been silent for ",
                          std::chrono::duration<double>(now - last_heard_).count(), " s, expected a word within ",
                          std::chrono::duration<double>(patience_).count(), " s")});
    return;
  }
  if (!session_) {
    if (now >= next_hello_) SayHello(now);
    return;
  }
  if (now >= next_heartbeat_) {
    const ActorProgress progress = exchange_.progress();
    const bool current = progress.session == session_->id;  // The rollouts may still be at the session before.
    endpoint_.Send(Heartbeat{session_->actor, session_->id, current ? progress.produced : session_->first_sequence - 1,
                             current ? progress.version : 0, current ? progress.window_us : 0});
    next_heartbeat_ = now + Milliseconds(session_->config.actor.heartbeat_s);
  }
  if (weights_wanted_ && now >= next_request_) {
    endpoint_.Send(WeightsRequest{session_->actor});
    next_request_ = now + kWeightsWait;
  }
  work_wanted_ = exchange_.TakeWorkWanted() || work_wanted_;
  if (work_wanted_ && version_ && now >= next_work_request_) {
    endpoint_.Send(WorkRequest{session_->actor, session_->id, *version_});
    next_work_request_ = now + kWorkWait;
  }
}

void Conversation::Handle(Welcome welcome) {
  if (session_ && welcome.session == session_->id && welcome.actor == session_->actor) return;  // Said twice.
  try {
    welcome.trajectories_endpoint = endpoint_.OnLearnersHost(welcome.trajectories_endpoint);
    session_ = std::make_shared<const Session>(UnpackWelcome(std::move(welcome)));
  } catch (const Error& error) {
    exchange_.End({true, error.kind(), error.what()});
    return;
  }
  LogInfo(StrCat("joined as actor ", session_->actor.actor_id, " incarnation ", session_->actor.incarnation, ", ",
                 session_->tasks.size(), " graphs"));
  patience_ = Milliseconds(session_->config.actor.patience_s);
  version_.reset();
  newest_announced_ = 0;                                         // A learner that was resumed may have gone back.
  weights_wanted_ = true;                                        // A notice sent earlier is lost, so it asks once.
  next_request_ = next_heartbeat_ = last_heard_ = Clock::now();  // Unpacking took a while.
  exchange_.Publish(session_);
}

void Conversation::Handle(const Notice& notice) {
  if (!session_) return;
  if (notice.session == session_->id) {
    exchange_.Publish(notice);
    WantVersion(notice.version);
    return;
  }
  LogInfo("the learner has been replaced: joining again");
  earlier_.insert(earlier_.begin(), {session_->actor.incarnation, nonce_});
  if (earlier_.size() > kMostEarlier) earlier_.pop_back();
  session_.reset();
  nonce_ = UnforeseenNumber();  // A new incarnation, not a repeated Hello of this one.
  next_hello_ = Clock::now();
  hello_wait_ = kFirstHelloWait;
}

void Conversation::Handle(const WeightsReply& reply) {
  if (!session_ || (version_ && reply.version <= *version_)) return;
  if (Hash64(reply.blob) != reply.hash) {
    LogWarning(StrCat("weights of version ", reply.version, " are damaged: asking again"));
    return;
  }
  try {
    auto weights = std::make_shared<PolicyWeights>(ParsePolicy(reply.blob, "weights from the learner"));
    const int32_t devices = session_->tasks.empty() ? 0 : session_->tasks[0].groups.num_devices;
    if (!weights->shape.FitsDevices(devices) || weights->version != reply.version) {
      throw BadInput(StrCat("weights from the learner are version ", weights->version, " for ",
                            weights->shape.num_devices, " devices, expected version ", reply.version, " for ",
                            devices));
    }
    exchange_.Publish(std::shared_ptr<const PolicyWeights>(std::move(weights)));
  } catch (const Error& error) {
    exchange_.End({true, error.kind(), error.what()});
    return;
  }
  version_ = reply.version;
  weights_wanted_ = newest_announced_ > reply.version;
  next_request_ = Clock::now();
  // At once, before the rollouts know of the weights: a round trip less to wait for.
  if (session_->config.training.lockstep()) {
    work_wanted_ = true;
    next_work_request_ = Clock::now();
  }
}

void Conversation::Handle(const Work& work) {
  if (!session_ || work.session != session_->id || !version_ || work.version != *version_ || work.episodes.empty())
    return;
  work_wanted_ = false;
  if (work_.version != work.version || work_.session != work.session) {
    work_ = work;
  } else {
    work_.episodes.insert(work_.episodes.end(), work.episodes.begin(), work.episodes.end());
  }
  exchange_.Publish(std::make_shared<const Work>(work_));
}

void Conversation::Handle(MeasureRequest request) {
  if (session_) exchange_.Publish(std::move(request));
}

void Conversation::Handle(const Refusal& refusal) {
  exchange_.End({true, Error::Kind::kBadInput, StrCat("the learner refused: ", refusal.reason)});
}

void Conversation::Handle(const Stop& /*stop*/) {
  exchange_.End({false, Error::Kind::kRunFailed, "the learner said stop"});
}

void Conversation::WantVersion(PolicyVersion version) {
  newest_announced_ = version;
  if (!version_ || version <= *version_) return;  // Not even the first are here: already asked for.
  weights_wanted_ = true;
}

}  // namespace

void Converse(const ConversationOptions& options, ControlExchange& exchange, const std::stop_token& stop) {
  try {
    Conversation conversation(options, exchange);
    while (!stop.stop_requested()) {
      const auto [goodbyes, leaving] = exchange.TakeGoodbyes();
      for (const Goodbye& goodbye : goodbyes) conversation.Send(goodbye);
      for (const MeasureReply& reply : exchange.TakeMeasureReplies()) conversation.Send(reply);
      if (leaving) return;
      conversation.RunOnce();
    }
  } catch (const Error& error) {
    exchange.End({true, error.kind(), error.what()});
  } catch (const std::exception& error) {
    exchange.End({true, Error::Kind::kRunFailed, StrCat("control connection: ", error.what())});
  }
}

}  // namespace emplace
