#include "learner/intake/front_end.h"

#include <pthread.h>

#include <random>
#include <utility>

#include "common/error.h"
#include "common/files/open_files.h"
#include "common/log.h"
#include "common/strings.h"
#include "common/wire/actor_name.h"
#include "common/wire/codec.h"
#include "policy/policy_kinds.h"
#include "simulator/graph/graph_io.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll(20);
constexpr std::chrono::milliseconds kWhileFull(2);  // How long control may wait for room.
// After the last goodbye or episode, what was sent before may still be on its way over the other socket.
constexpr std::chrono::milliseconds kQuiet(250);
constexpr std::chrono::milliseconds kQuietWhileOwed(
    3000);  // The same while some of what actors say they sent is not here.
constexpr std::chrono::milliseconds kActorCheckEvery(50);  // After silent actors.
constexpr int64_t kConnectionsOfAnActor = 2;               // Control, trajectories.
constexpr int64_t kOtherFiles = 100;                       // What a learner has open besides, and handshakes under way.
constexpr std::chrono::seconds kConnectionCheckEvery(5);

uint64_t RandomSession() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

NetworkOptions ToOptions(const RunConfig& config) {
  NetworkOptions options;
  options.bind = config.network.bind;
  options.advertise = config.network.advertise;
  options.port = static_cast<int>(config.network.port);
  if (!config.network.keys.empty()) options.keys = LoadLearnerKeys(config.network.keys);
  return options;
}

// Past the limit of open files no connections are taken.
int64_t RoomForActors() { return (OpenFileLimit() - kOtherFiles) / kConnectionsOfAnActor; }

}  // namespace

FrontEnd::FrontEnd(const std::vector<PlacementTask>& tasks, const RunConfig& config, Ledger& ledger,
                   BestPlacements& placements, std::shared_ptr<const PolicyWeights> weights, StageClocks& clocks,
                   EpisodeDealer* dealer, const std::optional<RunnableGraphs>& runnable, std::atomic<bool>* measuring)
    : tasks_(tasks),
      config_(config),
      kind_(FindPolicyKind(config.policy.kind)),
      config_yaml_(RunConfigToYaml(config)),
      session_(RandomSession()),
      ledger_(ledger),
      clock_(clocks[Stage::kReceive]),
      dealer_(dealer),
      runnable_(runnable),
      measuring_(measuring),
      queue_(tasks, kind_, config.environment,
             {.capacity = static_cast<size_t>(config.learner.buffer),
              .threads = static_cast<size_t>(config.learner.check_threads),
              .hardware = config.hardware,
              .measuring = measuring},
             ledger, placements, clocks[Stage::kCheck]),
      registry_({.silent_s = config.learner.actor_timeout_s,
                 .hang_s = config.learner.watchdog_s,
                 .max_actors = RoomForActors()},
                [this](const ActorKey& actor) {
                  if (dealer_ != nullptr) dealer_->TakeBack(actor);
                }),
      audit_(tasks, kind_, config.environment, config.hardware, RandomSession()),
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
  const CheckedQueue::Counts counts = queue_.counts();
  const MutexLock lock(mu_);
  FrontEndStats stats = stats_;
  stats.episodes = counts.episodes;
  stats.steps = counts.steps;
  return stats;
}

std::optional<Episode> FrontEnd::Pop(std::chrono::milliseconds timeout) {
  std::optional<Episode> episode = queue_.Pop(timeout);
  if (!episode) {
    const MutexLock lock(mu_);
    if (!failure_.empty()) throw RunFailed(failure_);
  }
  return episode;
}

void FrontEnd::Run(std::promise<std::string> bound) {
  pthread_setname_np(pthread_self(), "front end");  // For profilers and top.
  // Before ZeroMQ starts its threads: connections that fill the table up leave checkpoints theirs.
  if (!UnshareOpenFiles()) LogWarning("connections and files share one limit of open files on this system");
  std::unique_ptr<LearnerEndpoint> endpoint;
  try {
    endpoint = std::make_unique<LearnerEndpoint>(ToOptions(config_));
  } catch (...) {
    bound.set_exception(std::current_exception());
    return;
  }
  trajectories_address_ = endpoint->trajectories_address();
  bound.set_value(endpoint->control_address());
  try {
    welcome_.emplace(WelcomeToAll());
    clock_.Busy();
    Serve(*endpoint);
  } catch (const std::exception& error) {
    {
      const MutexLock lock(mu_);
      failure_ = StrCat("front end: ", error.what());
    }
    queue_.Close();  // Whoever waits for an episode learns at once.
  }
  clock_.Waiting();
}

Welcome FrontEnd::WelcomeToAll() const {
  Welcome welcome;
  welcome.session = session_;
  welcome.config_yaml = config_yaml_;
  welcome.trajectories_endpoint = trajectories_address_;
  for (const PlacementTask& task : tasks_) welcome.tasks.push_back(ToBundle(task));
  return welcome;
}

void FrontEnd::MakeWelcomeForMeasuring() {
  if (measuring_welcome_) return;
  Welcome welcome = WelcomeToAll();
  welcome.machine = ClusterToYaml(runnable_->machine);
  for (const OpGraph& graph : runnable_->graphs) welcome.graphs.push_back(GraphToJson(graph));
  measuring_welcome_.emplace(welcome);
}

std::optional<std::string> FrontEnd::WhyNoMeasuring() const {
  if (config_.training.lockstep()) {
    return "training.sync is lockstep, expected async for actors that measure: nobody can repeat their rewards";
  }
  if (!runnable_) return "this learner has no graphs that can be run, expected an actor that simulates";
  return std::nullopt;
}

void FrontEnd::Serve(LearnerEndpoint& endpoint) {
  bool told_to_stop = false;
  while (!done_) {
    clock_.Busy();  // Again each time: it gets on, however much comes.
    AnnounceNewWeights(endpoint);
    if (stopping_ && !told_to_stop) {
      const SharedMessage stop(Stop{});
      registry_.ForEachAlive([&](const ActorKey&, const PeerId& peer) { endpoint.Send(peer, stop); });
      told_to_stop = true;
    }
    PassAudited();
    const bool room = WaitForRoom();
    // Never waits: so the time in it, decoding above all, is work.
    auto received = endpoint.Receive(std::chrono::milliseconds(0), room);
    if (!received) {
      if (room) WaitForMessage(endpoint);
    } else if (auto* const trajectory = std::get_if<SentTrajectory>(&*received)) {
      Receive(endpoint, std::move(*trajectory));
    } else {
      Handle(endpoint, std::get<FromActor>(*received));
    }
    CheckActors(endpoint);
    const LearnerEndpoint::Counts counts = endpoint.counts();
    const MutexLock lock(mu_);
    stats_.malformed = counts.malformed + strangers_;
    stats_.ignored = counts.ignored;
    stats_.cut_off = counts.cut_off;
    stats_.refused = counts.refused;
  }
}

// Not for long: what actors say is heard even while there is no room for what they send.
bool FrontEnd::WaitForRoom() {
  if (queue_.HasRoom()) return true;
  const Clock::time_point before = Clock::now();
  clock_.Waiting();
  const bool room = queue_.HasRoom(kWhileFull);
  clock_.Busy();
  const MutexLock lock(mu_);
  stats_.blocked_s += std::chrono::duration<double>(Clock::now() - before).count();
  return room;
}

void FrontEnd::WaitForMessage(LearnerEndpoint& endpoint) {
  clock_.Waiting();
  endpoint.Wait(kPoll);
  clock_.Busy();
}

void FrontEnd::AnnounceNewWeights(LearnerEndpoint& endpoint) {
  const std::shared_ptr<const PolicyWeights> newest = weights();
  if (weights_reply_ && newest->version == announced_) return;
  WeightsReply reply{.version = newest->version, .blob = SerializePolicy(*newest)};
  reply.hash = WeightsHash(reply.blob);
  weights_reply_.emplace(reply);
  announced_ = newest->version;
  const SharedMessage notice(Notice{session_, announced_, registry_.num_measuring() > 0});
  registry_.ForEachAlive([&](const ActorKey&, const PeerId& peer) { endpoint.Send(peer, notice); });
}

void FrontEnd::Handle(LearnerEndpoint& endpoint, const FromActor& from) {
  std::visit([&](const auto& message) { Handle(endpoint, from, message); }, from.message);
}

void FrontEnd::Handle(LearnerEndpoint& endpoint, const FromActor& from, const Hello& hello) {
  const PeerId& id = from.peer;
  if (hellos_.Hear(id, Clock::now()) != PeerGuard::Verdict::kHear) return;
  if (hello.protocol != kProtocolVersion) {
    endpoint.Send(id, Refusal{StrCat("the actor speaks protocol ", hello.protocol, ", expected ", kProtocolVersion)});
    return;
  }
  if (!IsActorName(hello.name)) {
    endpoint.Send(id, Refusal{StrCat("the actor's name is not ", ActorNameRule())});
    return;
  }
  if (!owners_.MayJoin(hello.name, from.key)) {
    endpoint.Send(id, Refusal{StrCat("an actor with another key has joined as '", hello.name,
                                     "', expected a name for each actor")});
    ++strangers_;
    stranger_warnings_.Warn(StrCat("a process is refused that would join as '", hello.name, "' with another key"));
    return;
  }
  if (const std::optional<std::string> why = hello.measures ? WhyNoMeasuring() : std::nullopt) {
    endpoint.Send(id, Refusal{*why});
    return;
  }
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  // Before it leaves a trace.
  if (!registry_.HasRoomFor(hello.name)) {
    RefuseBeyondCapacity(endpoint, id);
    return;
  }
  if (!ledger_.HasRoomFor(hello.name, hello.nonce)) {
    endpoint.Send(id, Refusal{StrCat("the learner has no room for another actor, or another incarnation of '",
                                     hello.name, "': this run has had too many")});
    return;
  }
  const ActorKey actor = ledger_.Join(hello.name, hello.nonce, now.count());
  owners_.NoteJoined(hello.name, actor.actor_id, from.key);
  for (const Incarnation& earlier : hello.earlier)
    ledger_.Adopt(hello.name, earlier.number, earlier.nonce, now.count());
  if (!registry_.Join(actor, id, hello.name, Clock::now(), hello.measures)) {
    RefuseBeyondCapacity(endpoint, id);
    return;
  }
  if (hello.measures) MakeWelcomeForMeasuring();
  endpoint.SendWelcome(id, hello.measures ? *measuring_welcome_ : *welcome_, actor);
  if (stopping_) endpoint.Send(id, Stop{});
}

// Whether a message with this key may speak for the actor; one that may not is counted.
bool FrontEnd::IsOf(const ActorKey& actor, const std::string& key) {
  if (owners_.MaySpeakFor(actor.actor_id, key)) return true;
  ++strangers_;
  stranger_warnings_.Warn(StrCat("a message for ", ActorName(actor), " is ignored: it comes with another key"));
  return false;
}

// While there is still a connection to say so on.
void FrontEnd::RefuseBeyondCapacity(LearnerEndpoint& endpoint, const PeerId& id) {
  endpoint.Send(
      id, Refusal{StrCat("the learner may have ", OpenFileLimit(), " files open, which leaves no room for more than ",
                         registry_.capacity(), " actors; raise that limit (ulimit -n) on the learner's machine")});
  if (std::exchange(warned_of_room_, true)) return;
  LogWarning(StrCat(registry_.alive(), " actors are here, and the limit of ", OpenFileLimit(),
                    " open files leaves no room for more: raise it (ulimit -n) to ", kConnectionsOfAnActor,
                    " for each actor and ", kOtherFiles, " besides"));
}

void FrontEnd::Handle(LearnerEndpoint& endpoint, const FromActor& from, const Heartbeat& heartbeat) {
  // An actor of an earlier session learns from the reply that it has to say Hello again.
  endpoint.Send(from.peer, Notice{session_, announced_, registry_.num_measuring() > 0});
  if (heartbeat.session != session_ || !IsOf(heartbeat.actor, from.key)) return;
  ledger_.NoteProduced(heartbeat.actor, heartbeat.produced);
  if (!registry_.MarkHeard(heartbeat.actor, from.peer, Clock::now())) return;
  registry_.NoteWindows(heartbeat.actor, static_cast<double>(heartbeat.window_us) * 1e-6, Clock::now());
  if (stopping_) endpoint.Send(from.peer, Stop{});
}

void FrontEnd::Handle(LearnerEndpoint& endpoint, const FromActor& from, const WeightsRequest& /*request*/) {
  endpoint.Send(from.peer, *weights_reply_);
}

void FrontEnd::Handle(LearnerEndpoint& endpoint, const FromActor& from, const WorkRequest& request) {
  if (dealer_ == nullptr || stopping_ || request.session != session_ || !registry_.HasJoined(request.actor)) return;
  if (!IsOf(request.actor, from.key)) return;
  endpoint.Send(from.peer, Work{session_, request.version,
                                dealer_->Deal(request.actor, request.version, registry_.alive(), Clock::now())});
}

void FrontEnd::Handle(LearnerEndpoint& /*endpoint*/, const FromActor& from, const Goodbye& goodbye) {
  if (!IsOf(goodbye.actor, from.key)) return;
  ledger_.NoteProduced(goodbye.actor, goodbye.produced);
  if (!registry_.Leave(goodbye.actor)) return;
  if (stopping_) left_.insert(goodbye.actor);
  LogInfo(StrCat(ActorName(goodbye.actor), " said goodbye after ", goodbye.produced, " episodes"));
}

void FrontEnd::Handle(LearnerEndpoint& /*endpoint*/, const FromActor& from, const MeasureReply& reply) {
  if (IsOf(reply.actor, from.key)) audit_.Answer(reply);
}

void FrontEnd::Receive(LearnerEndpoint& endpoint, SentTrajectory sent) {
  Trajectory& trajectory = sent.trajectory;
  const ActorKey actor = trajectory.actor;
  if (!IsOf(actor, sent.key)) return;
  const Ledger::Admission admission = ledger_.Admit(actor, trajectory.sequence);
  if (admission == Ledger::Admission::kUnknown) {
    ++strangers_;
    stranger_warnings_.Warn(
        StrCat("episode ", trajectory.sequence, " of ", ActorName(actor), " is refused: no such actor has joined"));
    return;
  }
  if (admission == Ledger::Admission::kDuplicate) {
    const MutexLock lock(mu_);
    ++stats_.duplicates;
    return;
  }
  std::optional<std::string> reason = CheckShape(tasks_, kind_, trajectory);
  if (!reason) reason = WhyFalseMark(trajectory);
  if (!reason && trajectory.policy_version > announced_) {
    // Played for a learner that is no more, with weights that went with it.
    const bool possible = trajectory.policy_version <= static_cast<PolicyVersion>(config_.training.iterations);
    if (possible && !registry_.HasJoined(actor)) {
      ledger_.CountStale(actor);
      return;
    }
    reason = StrCat("policy version ", trajectory.policy_version, " was never published");
  }
  if (reason) {
    queue_.Reject(trajectory, *reason);
    endpoint.Blame(sent);
    return;
  }
  if (trajectory.claim == Claim::kMeasured && HoldForAudit(endpoint, trajectory, sent.peer)) return;
  // There is room: this thread alone pushes, and it looked before it received. Closed: the check has failed.
  if (!queue_.Push(std::move(trajectory), std::move(sent.peer))) ledger_.CountStale(actor);
}

std::optional<std::string> FrontEnd::WhyFalseMark(const Trajectory& trajectory) const {
  const bool measured = trajectory.claim == Claim::kMeasured;
  const std::optional<bool> measures = registry_.Measures(trajectory.actor);
  // Played for a learner before this one, by an actor that has not joined this one yet: it may be one that measures.
  if (!measures) return measured ? WhyNoMeasuring() : std::nullopt;
  if (*measures == measured) return std::nullopt;
  return measured ? "its rewards are measured, and its actor has joined as one that simulates"
                  : "its rewards are simulated, and its actor has joined as one that measures";
}

// Returns whether the audit has taken the trajectory.
bool FrontEnd::HoldForAudit(LearnerEndpoint& endpoint, Trajectory& trajectory, const PeerId& sender) {
  if (stopping_) return false;
  const std::optional<MeasurementAudit::Order> order =
      audit_.Begin(trajectory, sender, registry_.Measuring(), Clock::now());
  if (!order) return false;
  registry_.WithPeerOf(order->to, [&](const PeerId& peer) { endpoint.Send(peer, order->request); });
  return true;
}

// Passes on the episodes that the audit gives back, as far as there is room. At the end none is waited for.
void FrontEnd::PassAudited() {
  for (MeasurementAudit::Verdict& verdict : stopping_ ? audit_.TakeAll() : audit_.TakeVerdicts(Clock::now())) {
    audited_.push_back(std::move(verdict));
  }
  while (!audited_.empty()) {
    MeasurementAudit::Verdict& verdict = audited_.front();
    if (verdict.result == MeasurementAudit::Result::kFalse) {
      queue_.RejectFalse(verdict.trajectory, verdict.reason, std::move(verdict.sender));
    } else if (queue_.HasRoom()) {
      const ActorKey actor = verdict.trajectory.actor;
      const bool again = verdict.result == MeasurementAudit::Result::kConfirmed;
      if (!queue_.Push(std::move(verdict.trajectory), std::move(verdict.sender), again)) ledger_.CountStale(actor);
    } else {
      return;
    }
    audited_.pop_front();
  }
}

void FrontEnd::CheckActors(LearnerEndpoint& endpoint) {
  const Clock::time_point now = Clock::now();
  if (now < next_actor_check_) return;
  next_actor_check_ = now + kActorCheckEvery;
  CheckConnections(now);
  for (const PeerId& liar : queue_.TakeAccused()) endpoint.Accuse(liar);
  registry_.ExpireSilent(now);
  // Episodes that pass are what a run lives on: those that are rejected are no sign of life.
  const int64_t sound = queue_.counts().episodes;
  if (stopping_ || !queue_.HasRoom() || sound != sound_before_) registry_.NoteWork(now);
  sound_before_ = sound;
  if (const std::optional<std::string> hang = registry_.FindHang(now)) throw RunFailed(*hang);
  uint64_t under_way = 0;
  registry_.ForEachAlive([&](const ActorKey& actor, const PeerId&) { under_way += ledger_.UnderWay(actor); });
  uint64_t owed = 0;
  for (const ActorKey& actor : left_) owed += ledger_.UnderWay(actor);
  const int64_t measuring = registry_.num_measuring();
  if (measuring_ != nullptr) *measuring_ = measuring > 0;
  const MutexLock lock(mu_);
  stats_.measuring = measuring;
  stats_.window_s = registry_.window_s();
  stats_.actors_alive = registry_.alive();
  stats_.actors_gone = registry_.gone();
  stats_.under_way = static_cast<int64_t>(under_way);
  stats_.owed = static_cast<int64_t>(owed);
}

// Connections need not be actors': whoever says nothing holds one until its handshake is overdue.
void FrontEnd::CheckConnections(Clock::time_point now) {
  if (now < next_connection_check_) return;
  next_connection_check_ = now + kConnectionCheckEvery;
  const int64_t limit = OpenFileLimit();
  const int64_t open = CountOpenFiles().value_or(limit);
  if (open < limit - kConnectionsOfAnActor) return;
  connection_warnings_.Warn(StrCat("as many connections are open as the limit of ", limit, " open files allows, with ",
                                   registry_.alive(), " actors here: no actor can join meanwhile"));
}

void FrontEnd::CountQueuedAsStale() {
  while (const std::optional<Episode> episode = Pop(std::chrono::milliseconds(0))) {
    ledger_.CountStale(episode->trajectory.actor);
  }
}

void FrontEnd::Finish(std::chrono::milliseconds timeout) {
  stopping_ = true;
  const Clock::time_point deadline = Clock::now() + timeout;
  Clock::time_point last_sign = Clock::now();  // When the last episode came, or an actor left.
  int64_t alive = stats().actors_alive;
  while (Clock::now() < deadline) {
    // As they come: a full queue would hold up the actors' last episodes, and a connection that is held up when its
    // actor ends loses what ZeroMQ has in hand, a linger or not. Their goodbyes wait behind these, too.
    if (const std::optional<Episode> episode = Pop(kPoll)) {
      ledger_.CountStale(episode->trajectory.actor);
      last_sign = Clock::now();
      continue;
    }
    const FrontEndStats now = stats();
    // An actor may finish an episode for many seconds before it hears of the end; what it sent then is on its way.
    if (std::exchange(alive, now.actors_alive) != now.actors_alive) last_sign = Clock::now();
    if (now.actors_alive == 0 && Clock::now() - last_sign > (now.owed > 0 ? kQuietWhileOwed : kQuiet)) break;
  }
  done_ = true;
  thread_.join();
  queue_.Close();
  CountQueuedAsStale();
  // The thread is gone: what the audit or the full queue still held finds no update any more.
  for (const MeasurementAudit::Verdict& verdict : audit_.TakeAll()) ledger_.CountStale(verdict.trajectory.actor);
  for (const MeasurementAudit::Verdict& verdict : audited_) ledger_.CountStale(verdict.trajectory.actor);
}

}  // namespace emplace
