#include "actor/control_client.h"

#include <algorithm>
#include <random>
#include <utility>

#include "common/log.h"
#include "common/strings.h"
#include "common/wire/actor_endpoint.h"
#include "common/wire/weights_hash.h"
#include "simulator/graph/graph_io.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kReceiveWait(20);       // How soon the thread notices its end, or a learner that came.
constexpr milliseconds kFirstHelloWait(1000);  // Before a heard Hello is repeated; doubles up to
constexpr milliseconds kLastHelloWait(8000);   // this. A Welcome carries every graph.
constexpr milliseconds kWeightsWait(1000);     // Before an unanswered request for weights is repeated.
constexpr milliseconds kWorkWait(50);        // Before a request for work is repeated that was not answered, or by none.
constexpr size_t kMostMeasureRequests = 64;  // That wait; a learner asks for few.
constexpr size_t kMostEarlier = 8;           // Incarnations that a Hello tells of; a queue does not last for more.

uint64_t RandomNonce() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

milliseconds Milliseconds(double seconds) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(seconds));
}

// The graphs from which the tasks were made, and the machine, for an actor that runs them.
void UnpackGraphs(Welcome& welcome, Session& session) {
  if (welcome.graphs.empty()) return;
  if (welcome.graphs.size() != session.tasks.size()) {
    throw BadInput(StrCat("welcome from the learner: it has the ops of ", welcome.graphs.size(), " graphs, expected ",
                          session.tasks.size()));
  }
  session.machine = ParseClusterWithoutFiles(welcome.machine, "machine from the learner");
  const int32_t devices = session.tasks.front().groups.num_devices;
  if (session.machine.num_devices() != devices) {
    throw BadInput(StrCat("machine from the learner: has ", session.machine.num_devices(), " devices, expected ",
                          devices, " as the graphs are for"));
  }
  for (size_t i = 0; i < welcome.graphs.size(); ++i) {
    const PlacementTask& task = session.tasks[i];
    session.graphs.push_back(ParseGraph(welcome.graphs[i], StrCat("graph '", task.name, "' from the learner")));
    welcome.graphs[i].clear();
    if (session.graphs.back().num_ops() == task.sim.num_ops) continue;
    throw BadInput(StrCat("graph '", task.name, "' from the learner: has ", session.graphs.back().num_ops(),
                          " ops, expected ", task.sim.num_ops, " as its task"));
  }
}

}  // namespace

Session UnpackWelcome(Welcome&& welcome) {
  const std::string source = "configuration from the learner";
  Session session;
  session.actor = welcome.actor;
  session.id = welcome.session;
  session.first_sequence = welcome.first_sequence;
  session.config = ParseRunConfig(welcome.config_yaml, source, {});
  session.trajectories_address = std::move(welcome.trajectories_endpoint);
  if (welcome.tasks.empty()) throw BadInput("welcome from the learner: it has 0 graphs, expected at least 1");
  session.tasks.reserve(welcome.tasks.size());
  for (ArrayBundle& bundle : welcome.tasks) {
    session.tasks.push_back(TaskFromBundle(bundle));
    bundle = ArrayBundle();
    const int32_t devices = session.tasks.back().groups.num_devices;
    const int32_t expected = session.tasks.front().groups.num_devices;
    if (devices != expected) {
      throw BadInput(StrCat("graph '", session.tasks.back().name, "' from the learner is for ", devices,
                            " devices, expected ", expected, " as for the first"));
    }
  }
  UnpackGraphs(welcome, session);
  return session;
}

// --- The thread ---

class ControlClient::Conversation {
 public:
  explicit Conversation(ControlClient& client)
      : client_(client), endpoint_(client.learner_address_, client.keys_), patience_(client.patience_) {}

  // One round: says what is due, hears what has come.
  void RunOnce() {
    if (const std::optional<KeyProblem> problem = endpoint_.NextKeyProblem()) {
      const std::string reason =
          StrCat(client_.learner_address_, ": the learner refuses: ", problem->why, "; see emplace keygen");
      if (problem->final) {
        client_.End({true, Error::Kind::kBadInput, reason});
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

  template <typename Message>
  void Send(const Message& message) {
    endpoint_.Send(message);
  }

 private:
  void SendDue(Clock::time_point now) {
    if (now - last_heard_ > patience_) {
      client_.End({true, Error::Kind::kRunFailed,
                   StrCat(client_.learner_address_, ": the learner has been silent for ",
                          std::chrono::duration<double>(now - last_heard_).count(), " s, expected a word within ",
                          std::chrono::duration<double>(patience_).count(), " s")});
      return;
    }
    if (!session_) {
      if (now >= next_hello_ &&
          endpoint_.Send(Hello{kProtocolVersion, client_.name_, nonce_, earlier_, client_.measures_})) {
        next_hello_ = now + hello_wait_;
        hello_wait_ = std::min(2 * hello_wait_, kLastHelloWait);
      }
      return;
    }
    if (now >= next_heartbeat_) {
      const Progress progress = client_.ReadProgress();
      const bool current = progress.session == session_->id;  // The rollouts may still be at the session before.
      endpoint_.Send(Heartbeat{session_->actor, session_->id,
                               current ? progress.produced : session_->first_sequence - 1,
                               current ? progress.version : 0, current ? progress.window_us : 0});
      next_heartbeat_ = now + Milliseconds(session_->config.actor.heartbeat_s);
    }
    if (weights_wanted_ && now >= next_request_) {
      endpoint_.Send(WeightsRequest{session_->actor});
      next_request_ = now + kWeightsWait;
    }
    work_wanted_ = client_.TakeWorkWanted() || work_wanted_;
    if (work_wanted_ && version_ && now >= next_work_request_) {
      endpoint_.Send(WorkRequest{session_->actor, session_->id, *version_});
      next_work_request_ = now + kWorkWait;
    }
  }

  void Handle(Welcome welcome) {
    if (session_ && welcome.session == session_->id && welcome.actor == session_->actor) return;  // Said twice.
    try {
      welcome.trajectories_endpoint = endpoint_.OnLearnersHost(welcome.trajectories_endpoint);
      session_ = std::make_shared<const Session>(UnpackWelcome(std::move(welcome)));
    } catch (const Error& error) {
      client_.End({true, error.kind(), error.what()});
      return;
    }
    LogInfo(StrCat("joined as actor ", session_->actor.actor_id, " incarnation ", session_->actor.incarnation, ", ",
                   session_->tasks.size(), " graphs"));
    patience_ = Milliseconds(session_->config.actor.patience_s);
    version_.reset();
    weights_wanted_ = true;                                        // A notice sent earlier is lost, so it asks once.
    next_request_ = next_heartbeat_ = last_heard_ = Clock::now();  // Unpacking took a while.
    client_.Publish(session_);
  }

  void Handle(const Notice& notice) {
    if (!session_) return;
    if (notice.session == session_->id) {
      client_.PublishMeasuring(notice.measuring);
      WantVersion(notice.version);
      return;
    }
    LogInfo("the learner has been replaced: joining again");
    earlier_.insert(earlier_.begin(), {session_->actor.incarnation, nonce_});
    if (earlier_.size() > kMostEarlier) earlier_.pop_back();
    session_.reset();
    nonce_ = RandomNonce();  // A new incarnation, not a repeated Hello of this one.
    next_hello_ = Clock::now();
    hello_wait_ = kFirstHelloWait;
  }

  void Handle(const WeightsReply& reply) {
    if (!session_ || (version_ && reply.version <= *version_)) return;
    if (WeightsHash(reply.blob) != reply.hash) {
      LogWarning(StrCat("weights of version ", reply.version, " are damaged: asking again"));
      return;
    }
    try {
      auto weights = std::make_shared<PolicyWeights>(ParsePolicy(reply.blob, "weights from the learner"));
      const int32_t devices = session_->tasks[0].groups.num_devices;
      if (weights->shape.num_devices != devices || weights->version != reply.version) {
        throw BadInput(StrCat("weights from the learner are version ", weights->version, " for ",
                              weights->shape.num_devices, " devices, expected version ", reply.version, " for ",
                              devices));
      }
      client_.Publish(std::shared_ptr<const PolicyWeights>(std::move(weights)));
    } catch (const Error& error) {
      client_.End({true, error.kind(), error.what()});
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

  void Handle(const Work& work) {
    if (!session_ || work.session != session_->id || !version_ || work.version != *version_ || work.episodes.empty())
      return;
    work_wanted_ = false;
    if (work_.version != work.version || work_.session != work.session) {
      work_ = work;
    } else {
      work_.episodes.insert(work_.episodes.end(), work.episodes.begin(), work.episodes.end());
    }
    client_.Publish(std::make_shared<const Work>(work_));
  }

  void Handle(MeasureRequest request) {
    if (session_) client_.Publish(std::move(request));
  }

  void Handle(const Refusal& refusal) {
    client_.End({true, Error::Kind::kBadInput, StrCat("the learner refused: ", refusal.reason)});
  }

  void Handle(const Stop&) { client_.End({false, Error::Kind::kRunFailed, "the learner said stop"}); }

  void WantVersion(PolicyVersion version) {
    newest_announced_ = version;
    if (!version_ || version <= *version_) return;  // Not even the first are here: already asked for.
    weights_wanted_ = true;
  }

  ControlClient& client_;
  ActorEndpoint endpoint_;
  milliseconds patience_;
  Clock::time_point last_heard_ = Clock::now();
  std::shared_ptr<const Session> session_;  // nullptr: not welcomed.
  uint64_t nonce_ = RandomNonce();
  std::vector<Incarnation> earlier_;  // With learners before; the latest first.
  milliseconds hello_wait_ = kFirstHelloWait;
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

ControlClient::ControlClient(std::string learner_address, std::string name, milliseconds patience,
                             std::optional<ActorKeys> keys, bool measures)
    : learner_address_(std::move(learner_address)),
      name_(std::move(name)),
      patience_(patience),
      keys_(std::move(keys)),
      measures_(measures),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

ControlClient::~ControlClient() = default;

void ControlClient::Run(const std::stop_token& stop) {
  try {
    Conversation conversation(*this);
    while (!stop.stop_requested()) {
      const auto [goodbyes, leaving] = TakeGoodbyes();
      for (const Goodbye& goodbye : goodbyes) conversation.Send(goodbye);
      for (const MeasureReply& reply : TakeMeasureReplies()) conversation.Send(reply);
      if (leaving) return;
      conversation.RunOnce();
    }
  } catch (const Error& error) {
    End({true, error.kind(), error.what()});
  } catch (const std::exception& error) {
    End({true, Error::Kind::kRunFailed, StrCat("control connection: ", error.what())});
  }
}

// --- What other threads see ---

ControlClient::State ControlClient::state() const {
  const MutexLock lock(mu_);
  return state_;
}

ControlClient::State ControlClient::WaitForChange(const State& seen, milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  const MutexLock lock(mu_);
  while (state_.session == seen.session && state_.weights == seen.weights && state_.work == seen.work &&
         state_.measuring == seen.measuring && state_.ending.has_value() == seen.ending.has_value()) {
    if (!changed_.WaitUntil(mu_, deadline)) break;
  }
  return state_;
}

void ControlClient::Report(uint64_t session, uint64_t produced, PolicyVersion version,
                           std::chrono::microseconds window_time) {
  const MutexLock lock(mu_);
  progress_ = {session, produced, version, static_cast<uint64_t>(window_time.count())};
}

ControlClient::Progress ControlClient::ReadProgress() const {
  const MutexLock lock(mu_);
  return progress_;
}

void ControlClient::AskForWork() {
  const MutexLock lock(mu_);
  work_wanted_ = true;
}

bool ControlClient::TakeWorkWanted() {
  const MutexLock lock(mu_);
  return std::exchange(work_wanted_, false);
}

std::optional<MeasureRequest> ControlClient::TakeMeasureRequest() {
  const MutexLock lock(mu_);
  if (measure_requests_.empty()) return std::nullopt;
  MeasureRequest request = std::move(measure_requests_.front());
  measure_requests_.pop_front();
  return request;
}

void ControlClient::Answer(const MeasureReply& reply) {
  const MutexLock lock(mu_);
  measure_replies_.push_back(reply);
}

std::vector<MeasureReply> ControlClient::TakeMeasureReplies() {
  const MutexLock lock(mu_);
  return std::exchange(measure_replies_, {});
}

void ControlClient::SayGoodbye(const ActorKey& actor, uint64_t produced) {
  const MutexLock lock(mu_);
  goodbyes_.push_back({actor, produced});
}

void ControlClient::Leave(const ActorKey& actor, uint64_t produced) {
  SayGoodbye(actor, produced);
  {
    const MutexLock lock(mu_);
    leaving_ = true;
  }
  thread_.join();
}

std::pair<std::vector<Goodbye>, bool> ControlClient::TakeGoodbyes() {
  const MutexLock lock(mu_);
  return {std::exchange(goodbyes_, {}), leaving_};
}

void ControlClient::Publish(std::shared_ptr<const Session> session) {
  const MutexLock lock(mu_);
  state_.session = std::move(session);
  state_.weights = nullptr;
  state_.work = nullptr;
  measure_requests_.clear();
  measure_replies_.clear();
  changed_.NotifyAll();
}

void ControlClient::PublishMeasuring(bool measuring) {
  const MutexLock lock(mu_);
  state_.measuring = measuring;
  changed_.NotifyAll();
}

void ControlClient::Publish(MeasureRequest request) {
  const MutexLock lock(mu_);
  if (measure_requests_.size() < kMostMeasureRequests) measure_requests_.push_back(std::move(request));
}

void ControlClient::Publish(std::shared_ptr<const PolicyWeights> weights) {
  const MutexLock lock(mu_);
  state_.weights = std::move(weights);
  state_.work = nullptr;
  changed_.NotifyAll();
}

void ControlClient::Publish(std::shared_ptr<const Work> work) {
  const MutexLock lock(mu_);
  state_.work = std::move(work);
  changed_.NotifyAll();
}

void ControlClient::End(Ending ending) {
  const MutexLock lock(mu_);
  if (!state_.ending) state_.ending = std::move(ending);
  changed_.NotifyAll();
}

}  // namespace emplace
