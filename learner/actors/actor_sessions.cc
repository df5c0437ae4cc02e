#include "learner/actors/actor_sessions.h"

#include "common/error.h"
#include "common/log.h"
#include "common/rng.h"
#include "common/strings.h"
#include "common/wire/access/actor_name.h"

namespace emplace {
namespace {

int64_t WholeUnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

ActorSessions::ActorSessions(const std::vector<PlacementTask>& tasks, const RunConfig& config, Ledger& ledger,
                             const Extras& extras)
    : session_(UnforeseenNumber()),
      config_(config),
      ledger_(ledger),
      dealer_(extras.dealer),
      measuring_(extras.measuring),
      welcomes_(tasks, config, session_, extras.runnable),
      registry_({.silent_s = config.learner.actor_timeout_s,
                 .hang_s = config.learner.watchdog_s,
                 .max_actors = ActorCapacity()},
                [this](const ActorKey& actor) {
                  if (dealer_ != nullptr) dealer_->TakeBack(actor);
                }) {}

std::optional<std::string> ActorSessions::WhyRefused(const Hello& hello, const std::string& key) {
  if (hello.protocol != kProtocolVersion) {
    return StrCat("the actor speaks protocol ", hello.protocol, ", expected ", kProtocolVersion);
  }
  if (!IsActorName(hello.name)) return StrCat("the actor's name is not ", ActorNameRule());
  if (!owners_.MayJoin(hello.name, key)) {
    CountStranger(StrCat("a process is refused that would join as '", hello.name, "' with another key"));
    return StrCat("an actor with another key has joined as '", hello.name, "', expected a name for each actor");
  }
  if (hello.measures) {
    if (std::optional<std::string> why = WhyNoMeasuring()) return why;
  }
  if (!registry_.HasRoomFor(hello.name)) {
    return connections_.RefuseOneMore(registry_.alive(), registry_.capacity());
  }
  if (!ledger_.HasRoomFor(hello.name, hello.nonce)) {
    return StrCat("the learner has no room for another actor, or another incarnation of '", hello.name,
                  "': this run has had too many");
  }
  return std::nullopt;
}

void ActorSessions::Handle(LearnerEndpoint& endpoint, const FromActor& from, const Hello& hello) {
  const Time now = std::chrono::steady_clock::now();
  if (hellos_.Hear(from.peer, now) != PeerGuard::Verdict::kHear) return;
  // Before it leaves a trace.
  if (const std::optional<std::string> why = WhyRefused(hello, from.key)) {
    endpoint.Send(from.peer, Refusal{*why});
    return;
  }
  const int64_t unix_seconds = WholeUnixSeconds();
  const ActorKey actor = ledger_.Join(hello.name, hello.nonce, unix_seconds);
  owners_.NoteJoined(hello.name, actor.actor_id, from.key);
  for (const Incarnation& earlier : hello.earlier) {
    ledger_.Adopt(hello.name, earlier.number, earlier.nonce, unix_seconds);
  }
  if (!registry_.Join(actor, from.peer, hello.name, now, hello.measures)) {
    endpoint.Send(from.peer, Refusal{connections_.RefuseOneMore(registry_.alive(), registry_.capacity())});
    return;
  }
  welcomes_.Send(endpoint, from.peer, actor, hello.measures);
  if (stopping_) endpoint.Send(from.peer, Stop{});
}

bool ActorSessions::MaySpeakFor(const ActorKey& actor, const std::string& key) {
  if (owners_.MaySpeakFor(actor.actor_id, key)) return true;
  CountStranger(StrCat("a message for ", ActorName(actor), " is ignored: it comes with another key"));
  return false;
}

void ActorSessions::CountStranger(const std::string& warning) {
  ++strangers_;
  stranger_warnings_.Warn(warning);
}

void ActorSessions::Handle(LearnerEndpoint& endpoint, const FromActor& from, const Heartbeat& heartbeat) {
  if (heartbeat.session != session_ || !MaySpeakFor(heartbeat.actor, from.key)) return;
  ledger_.NoteProduced(heartbeat.actor, heartbeat.produced);
  const Time now = std::chrono::steady_clock::now();
  if (!registry_.MarkHeard(heartbeat.actor, from.peer, now)) return;
  registry_.NoteWindows(heartbeat.actor, static_cast<double>(heartbeat.window_us) * 1e-6, now);
  if (stopping_) endpoint.Send(from.peer, Stop{});
}

void ActorSessions::Handle(LearnerEndpoint& endpoint, const FromActor& from, const WorkRequest& request) {
  if (dealer_ == nullptr || stopping_ || request.session != session_ || !registry_.HasJoined(request.actor)) return;
  if (!MaySpeakFor(request.actor, from.key)) return;
  endpoint.Send(from.peer, Work{session_, request.version,
                                dealer_->Deal(request.actor, request.version, registry_.alive(),
                                              std::chrono::steady_clock::now())});
}

void ActorSessions::Handle(const FromActor& from, const Goodbye& goodbye) {
  if (!MaySpeakFor(goodbye.actor, from.key)) return;
  ledger_.NoteProduced(goodbye.actor, goodbye.produced);
  if (!registry_.Leave(goodbye.actor)) return;
  if (stopping_) left_.insert(goodbye.actor);
  LogInfo(StrCat(ActorName(goodbye.actor), " said goodbye after ", goodbye.produced, " episodes"));
}

uint64_t ActorSessions::SequenceLimit(const ActorKey& actor) const { return run_ahead().Limit(ledger_.Newest(actor)); }

bool ActorSessions::MovesLimit(uint64_t sequence) const {
  const RunAhead each = run_ahead();
  return each.most > 0 && sequence % each.step == 0;
}

void ActorSessions::TellToStop(LearnerEndpoint& endpoint) {
  stopping_ = true;
  const SharedMessage stop(Stop{});
  registry_.ForEachAlive([&](const ActorKey&, const PeerId& peer) { endpoint.Send(peer, stop); });
}

void ActorSessions::Check(bool progress, Time now) {
  connections_.Check(registry_.alive(), now);
  registry_.ExpireSilent(now);
  if (progress || stopping_) registry_.NoteWork(now);
  if (const std::optional<std::string> hang = registry_.FindHang(now)) throw RunFailed(*hang);
  CountActors();
}

void ActorSessions::CountActors() {
  uint64_t under_way = 0;
  registry_.ForEachAlive([&](const ActorKey& actor, const PeerId&) { under_way += ledger_.UnderWay(actor); });
  uint64_t owed = 0;
  for (const ActorKey& actor : left_) owed += ledger_.UnderWay(actor);
  counts_ = {.alive = registry_.alive(),
             .gone = registry_.gone(),
             .under_way = static_cast<int64_t>(under_way),
             .owed = static_cast<int64_t>(owed),
             .measuring = registry_.num_measuring(),
             .any_measured = registry_.any_measures(),
             .window_s = registry_.window_s(),
             .measuring_s = registry_.measuring_s()};
  if (measuring_ != nullptr) *measuring_ = counts_.measuring > 0;
}

}  // namespace emplace
