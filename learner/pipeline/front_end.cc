#include "learner/pipeline/front_end.h"

#include <pthread.h>

#include <exception>
#include <memory>
#include <utility>
#include <variant>

#include "common/error.h"
#include "common/files/open_files.h"
#include "common/log.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll(20);
constexpr std::chrono::milliseconds kWhileFull(2);  // How long control may wait for room.
// After the last goodbye or episode, what was sent before may still be on its way over the other socket.
constexpr std::chrono::milliseconds kQuiet(250);
// The same while some of what actors say they sent is not here.
constexpr std::chrono::milliseconds kQuietWhileOwed(3000);
constexpr std::chrono::milliseconds kActorCheckEvery(50);  // After silent actors.

// A visitor of a variant: of these functions it calls the one that takes what the variant holds.
template <typename... Functions>
struct EitherOf : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
EitherOf(Functions...) -> EitherOf<Functions...>;

NetworkOptions ToOptions(const NetworkConfig& config) {
  NetworkOptions options;
  options.bind = config.bind;
  options.advertise = config.advertise;
  options.port = static_cast<int>(config.port);
  if (!config.keys.empty()) options.keys = LoadLearnerKeys(config.keys);
  return options;
}

}  // namespace

FrontEnd::FrontEnd(const NetworkConfig& config, ActorSessions& sessions, WeightsBroadcast& weights,
                   TrajectoryIntake& intake, StageClocks& clocks)
    : sessions_(sessions), weights_(weights), intake_(intake), clocks_(clocks), clock_(clocks[Stage::kReceive]) {
  // The sockets belong to the thread; whether they could be bound comes back through the promise.
  std::promise<std::string> bound;
  std::future<std::string> address = bound.get_future();
  thread_ = std::thread([this, config, bound = std::move(bound)]() mutable { Run(config, std::move(bound)); });
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

FrontEndStats FrontEnd::stats() const {
  const CheckedQueue::Counts counts = intake_.counts();
  const MutexLock lock(mu_);
  FrontEndStats stats = stats_;
  stats.episodes = counts.episodes;
  stats.steps = counts.steps;
  stats.blocked_s = full_.seconds().busy;
  return stats;
}

std::optional<Episode> FrontEnd::Pop(std::chrono::milliseconds timeout) {
  std::optional<Episode> episode = intake_.Pop(timeout);
  if (!episode) {
    const MutexLock lock(mu_);
    if (!failure_.empty()) throw RunFailed(failure_);
  }
  return episode;
}

void FrontEnd::Run(const NetworkConfig& config, std::promise<std::string> bound) {
  pthread_setname_np(pthread_self(), "front end");  // For profilers and top.
  // Before ZeroMQ starts its threads: connections that fill the table up leave checkpoints theirs.
  if (!UnshareOpenFiles()) LogWarning("connections and files share one limit of open files on this system");
  std::unique_ptr<LearnerEndpoint> endpoint;
  try {
    endpoint = std::make_unique<LearnerEndpoint>(ToOptions(config));
  } catch (...) {
    bound.set_exception(std::current_exception());
    return;
  }
  bound.set_value(endpoint->control_address());
  try {
    sessions_.SetTrajectoriesAddress(endpoint->trajectories_address());
    clock_.Busy();
    Serve(*endpoint);
  } catch (const std::exception& error) {
    {
      const MutexLock lock(mu_);
      failure_ = StrCat("front end: ", error.what());
    }
    intake_.Close();  // Whoever waits for an episode learns at once.
  }
  clock_.Waiting();
}

void FrontEnd::Serve(LearnerEndpoint& endpoint) {
  bool told_to_stop = false;
  while (!done_) {
    clock_.Busy();  // Again each time: it gets on, however much comes.
    weights_.AnnounceNew(endpoint);
    if (stopping_ && !told_to_stop) {
      sessions_.TellToStop(endpoint);
      intake_.StopHolding();
      told_to_stop = true;
    }
    intake_.PassAudited();
    ReceiveOne(endpoint);
    CheckActors(endpoint);
    TakeStats(endpoint.counts());
  }
}

void FrontEnd::ReceiveOne(LearnerEndpoint& endpoint) {
  const bool room = WaitForRoom();
  // Never waits: so the time in it, decoding above all, is work.
  auto received = endpoint.Receive(std::chrono::milliseconds(0), room);
  if (!received) {
    if (room) WaitForMessage(endpoint);
  } else if (auto* const trajectory = std::get_if<SentTrajectory>(&*received)) {
    const ActorKey actor = trajectory->trajectory.actor;
    const uint64_t sequence = trajectory->trajectory.sequence;
    intake_.Receive(endpoint, std::move(*trajectory), weights_.announced());
    if (sessions_.MovesLimit(sequence)) weights_.SendNotice(endpoint, actor);
  } else {
    Handle(endpoint, std::get<FromActor>(*received));
  }
}

// Not for long: what actors say is heard even while there is no room for what they send.
bool FrontEnd::WaitForRoom() {
  if (intake_.HasRoom()) return true;
  clock_.Waiting();
  full_.Busy();
  const bool room = intake_.HasRoom(kWhileFull);
  full_.Waiting();
  clock_.Busy();
  return room;
}

void FrontEnd::WaitForMessage(LearnerEndpoint& endpoint) {
  clock_.Waiting();
  endpoint.Wait(kPoll);
  clock_.Busy();
}

void FrontEnd::Handle(LearnerEndpoint& endpoint, const FromActor& from) {
  const EitherOf handle{
      [&](const Hello& hello) { sessions_.Handle(endpoint, from, hello); },
      [&](const Heartbeat& heartbeat) {
        // An actor of an earlier session learns from the notice that it has to say Hello again.
        weights_.SendNotice(endpoint, from.peer, heartbeat.actor);
        sessions_.Handle(endpoint, from, heartbeat);
      },
      [&](const WeightsRequest& /*request*/) { weights_.SendWeights(endpoint, from.peer); },
      [&](const WorkRequest& request) { sessions_.Handle(endpoint, from, request); },
      [&](const Goodbye& goodbye) { sessions_.Handle(from, goodbye); },
      [&](const MeasureReply& reply) {
        if (sessions_.MaySpeakFor(reply.actor, from.key)) intake_.Answer(reply);
      },
  };
  std::visit(handle, from.message);
}

void FrontEnd::CheckActors(LearnerEndpoint& endpoint) {
  const Clock::time_point now = Clock::now();
  if (now < next_actor_check_) return;
  next_actor_check_ = now + kActorCheckEvery;
  intake_.AccuseSenders(endpoint);
  // Actors may have to wait for what comes of an update or an evaluation. One that hangs is found by its own clock.
  const bool computes = clocks_[Stage::kUpdate].silent_s() || clocks_[Stage::kEvaluate].silent_s();
  sessions_.Check(intake_.MadeProgress() || computes, now);
}

void FrontEnd::TakeStats(const LearnerEndpoint::Counts& counts) {
  const MutexLock lock(mu_);
  stats_.duplicates = intake_.duplicates();
  stats_.malformed = counts.malformed + sessions_.strangers();
  stats_.ignored = counts.ignored;
  stats_.cut_off = counts.cut_off;
  stats_.refused = counts.refused;
  stats_.actors = sessions_.counts();
}

// Counts the oldest checked episode as stale. Returns whether there was one; waits for at most `timeout`.
bool FrontEnd::DiscardOne(std::chrono::milliseconds timeout) {
  const std::optional<Episode> episode = Pop(timeout);
  if (episode) intake_.CountStale(episode->trajectory);
  return episode.has_value();
}

void FrontEnd::Finish(std::chrono::milliseconds timeout) {
  stopping_ = true;
  const Clock::time_point deadline = Clock::now() + timeout;
  Clock::time_point last_sign = Clock::now();  // When the last episode came, or an actor left.
  int64_t alive = stats().actors.alive;
  while (Clock::now() < deadline) {
    // As they come: a full queue would hold up the actors' last episodes, and a connection that is held up when its
    // actor ends loses what ZeroMQ has in hand, a linger or not. Their goodbyes wait behind these, too.
    if (DiscardOne(kPoll)) {
      last_sign = Clock::now();
      continue;
    }
    const ActorSessions::Counts actors = stats().actors;
    // An actor may finish an episode for many seconds before it hears of the end; what it sent then is on its way.
    if (std::exchange(alive, actors.alive) != actors.alive) last_sign = Clock::now();
    if (actors.alive == 0 && Clock::now() - last_sign > (actors.owed > 0 ? kQuietWhileOwed : kQuiet)) break;
  }
  done_ = true;
  thread_.join();
  intake_.Close();
  while (DiscardOne(std::chrono::milliseconds(0))) {
  }
  // The thread is gone: what the audit or the full queue still held finds no update any more.
  intake_.CountHeldAsStale();
}

}  // namespace emplace
