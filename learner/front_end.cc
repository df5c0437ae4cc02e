#include "learner/front_end.h"

#include <xxhash.h>

#include <algorithm>
#include <random>

#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll(20);
constexpr std::chrono::milliseconds kWhileFull(2);
// After the last goodbye, what was sent before it may still be on its way over the other socket.
constexpr std::chrono::milliseconds kQuiet(250);

uint64_t RandomSession() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

NetworkOptions ToOptions(const RunConfig& config) {
  NetworkOptions options;
  options.bind = config.network.bind;
  options.port = static_cast<int>(config.network.port);
  return options;
}

std::string ActorName(const ActorKey& key) { return StrCat("actor ", key.actor_id, ", incarnation ", key.incarnation); }

}  // namespace

FrontEnd::FrontEnd(const std::vector<PlacementTask>& tasks, const RunConfig& config, Ledger& ledger,
                   std::shared_ptr<const PolicyWeights> weights)
    : tasks_(tasks),
      config_(config),
      config_yaml_(RunConfigToYaml(config)),
      session_(RandomSession()),
      ledger_(ledger),
      queue_(static_cast<size_t>(config.learner.buffer)),
      checker_(tasks, config.environment),
      weights_(std::move(weights)) {
  // The sockets belong to the thread; whether they could be bound comes back through the promise.
  std::promise<std::string> bound;
  std::future<std::string> address = bound.get_future();
  thread_ = std::thread([this, bound = std::move(bound)]() mutable { Run(std::move(bound)); });
  try {
    address_ = address.get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

FrontEnd::~FrontEnd() {
  done_ = true;
  queue_.Close();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const PolicyWeights> FrontEnd::weights() const {
  const MutexLock lock(mu_);
  return weights_;
}

void FrontEnd::Publish(std::shared_ptr<const PolicyWeights> weights) {
  const MutexLock lock(mu_);
  weights_ = std::move(weights);
}

FrontEndStats FrontEnd::stats() const {
  const MutexLock lock(mu_);
  return stats_;
}

void FrontEnd::Run(std::promise<std::string> bound) {
  std::unique_ptr<LearnerEndpoint> endpoint;
  try {
    endpoint = std::make_unique<LearnerEndpoint>(ToOptions(config_));
  } catch (...) {
    bound.set_exception(std::current_exception());
    return;
  }
  trajectories_address_ = endpoint->trajectories_address();
  notices_address_ = endpoint->notices_address();
  bound.set_value(endpoint->control_address());

  bool told_to_stop = false;
  while (!done_) {
    AnnounceNewWeights(*endpoint);
    if (stopping_ && !told_to_stop) {
      endpoint->Announce({session_, announced_, /*stop=*/true});
      for (const auto& [key, peer] : peers_) {
        if (!peer.gone) endpoint->Send(peer.id, Stop{});
      }
      told_to_stop = true;
    }
    const bool room = queue_.size() < static_cast<size_t>(config_.learner.buffer);
    const Clock::time_point before = Clock::now();
    auto received = endpoint->Receive(room ? kPoll : kWhileFull, room);
    if (!room) {
      const MutexLock lock(mu_);
      stats_.blocked_s += std::chrono::duration<double>(Clock::now() - before).count();
    }
    if (received) {
      if (auto* const trajectory = std::get_if<Trajectory>(&*received)) {
        Receive(std::move(*trajectory));
      } else {
        Handle(*endpoint, std::move(std::get<FromActor>(*received)));
      }
    }
    NoteSilentActors();
    const MutexLock lock(mu_);
    stats_.malformed = std::max(stats_.malformed, endpoint->malformed());
  }
}

void FrontEnd::AnnounceNewWeights(LearnerEndpoint& endpoint) {
  const std::shared_ptr<const PolicyWeights> newest = weights();
  if (!weights_reply_.blob.empty() && newest->version == announced_) return;
  weights_reply_.version = newest->version;
  weights_reply_.blob = SerializePolicy(*newest);
  weights_reply_.hash = XXH3_64bits(weights_reply_.blob.data(), weights_reply_.blob.size());
  announced_ = newest->version;
  endpoint.Announce({session_, announced_, /*stop=*/false});
}

void FrontEnd::Handle(LearnerEndpoint& endpoint, FromActor from) {
  if (const auto* const hello = std::get_if<Hello>(&from.message)) {
    if (hello->protocol != kProtocolVersion) {
      endpoint.Send(from.peer, Refusal{StrCat("this learner speaks protocol ", kProtocolVersion, ", the actor ", hello->protocol)});
      return;
    }
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
    Welcome welcome;
    welcome.actor = ledger_.Join(hello->name, hello->nonce, now.count());
    welcome.session = session_;
    welcome.config_yaml = config_yaml_;
    welcome.trajectories_endpoint = trajectories_address_;
    welcome.notices_endpoint = notices_address_;
    for (const PlacementTask& task : tasks_) welcome.tasks.push_back(ToBundle(task));
    if (!peers_.contains(welcome.actor)) LogInfo(StrCat("'", hello->name, "' joins as ", ActorName(welcome.actor)));
    peers_[welcome.actor] = {from.peer, Clock::now()};
    endpoint.Send(from.peer, welcome);
    if (stopping_) endpoint.Send(from.peer, Stop{});
    return;
  }
  if (const auto* const heartbeat = std::get_if<Heartbeat>(&from.message)) {
    // An actor of an earlier session learns from the reply that it has to say Hello again.
    endpoint.Send(from.peer, HeartbeatReply{session_, announced_});
    if (heartbeat->session != session_) return;
    ledger_.NoteProduced(heartbeat->actor, heartbeat->produced);
    const auto peer = peers_.find(heartbeat->actor);
    if (peer == peers_.end()) return;
    if (peer->second.gone) LogInfo(StrCat(ActorName(heartbeat->actor), " is heard again"));
    peer->second = {from.peer, Clock::now()};
    if (stopping_) endpoint.Send(from.peer, Stop{});
    return;
  }
  if (std::holds_alternative<WeightsRequest>(from.message)) {
    endpoint.Send(from.peer, weights_reply_);
    return;
  }
  const Goodbye& goodbye = std::get<Goodbye>(from.message);
  ledger_.NoteProduced(goodbye.actor, goodbye.produced);
  const auto peer = peers_.find(goodbye.actor);
  if (peer != peers_.end()) peer->second.gone = true;
  LogInfo(StrCat(ActorName(goodbye.actor), " said goodbye after ", goodbye.produced, " episodes"));
}

void FrontEnd::Receive(Trajectory trajectory) {
  const ActorKey actor = trajectory.actor;
  const Ledger::Admission admission = ledger_.Admit(actor, trajectory.sequence);
  if (admission != Ledger::Admission::kNew) {
    const MutexLock lock(mu_);
    ++(admission == Ledger::Admission::kDuplicate ? stats_.duplicates : stats_.malformed);
    return;
  }
  const TrajectoryChecker::Outcome outcome = checker_.Check(trajectory);
  if (outcome.reason || trajectory.policy_version > announced_) {
    const std::string reason = outcome.reason.value_or(StrCat("policy version ", trajectory.policy_version, " was never published"));
    LogWarning(StrCat("episode ", trajectory.sequence, " of ", ActorName(actor), " is rejected: ", reason));
    ledger_.CountRejected(actor);
    return;
  }
  {
    const MutexLock lock(mu_);
    ++stats_.episodes;
    stats_.steps += std::ssize(trajectory.actions);
    stats_.newest_version = std::max(stats_.newest_version, trajectory.policy_version);
  }
  const double ratio = outcome.makespan_us / tasks_[trajectory.graph].single_device_us;
  // There is room: this thread alone pushes, and it looked before it received. Closed: the run is over.
  if (!queue_.TryPush({std::move(trajectory), outcome.makespan_us, ratio, outcome.feasible})) ledger_.CountStale(actor);
}

void FrontEnd::NoteSilentActors() {
  const auto limit = std::chrono::duration<double>(config_.learner.actor_timeout_s);
  int64_t alive = 0;
  for (auto& [key, peer] : peers_) {
    if (!peer.gone && Clock::now() - peer.last_heard > limit) {
      peer.gone = true;
      LogWarning(StrCat(ActorName(key), " has been silent for ", config_.learner.actor_timeout_s, " s and counts as gone"));
    }
    if (!peer.gone) ++alive;
  }
  const MutexLock lock(mu_);
  stats_.actors_alive = alive;
  stats_.actors_gone = std::ssize(peers_) - alive;
}

void FrontEnd::Finish(std::chrono::milliseconds timeout) {
  stopping_ = true;
  const Clock::time_point deadline = Clock::now() + timeout;
  Clock::time_point last_arrival = Clock::now();
  int64_t arrived = stats().episodes;
  while (Clock::now() < deadline) {
    std::this_thread::sleep_for(kPoll);
    // A full queue would hold up the actors' last episodes, and their goodbyes wait behind these.
    while (std::optional<Episode> episode = queue_.Pop(std::chrono::milliseconds(0))) {
      ledger_.CountStale(episode->trajectory.actor);
    }
    const FrontEndStats now = stats();
    if (now.episodes != arrived) {
      arrived = now.episodes;
      last_arrival = Clock::now();
    }
    if (now.actors_alive == 0 && Clock::now() - last_arrival > kQuiet) break;
  }
  done_ = true;
  thread_.join();
  queue_.Close();
  while (std::optional<Episode> episode = queue_.Pop(std::chrono::milliseconds(0))) {
    ledger_.CountStale(episode->trajectory.actor);
  }
}

}  // namespace emplace
