#include "learner/actors/actor_registry.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "common/log.h"
#include "common/strings.h"
#include "learner/ledger.h"

namespace emplace {
namespace {

// Looks that are further apart than this: the learner itself stood still (SIGSTOP, a machine that slept), not its
// actors.
constexpr std::chrono::seconds kLearnerStoodStill(5);

double SecondsBetween(ActorRegistry::Time earlier, ActorRegistry::Time later) {
  return std::chrono::duration<double>(later - earlier).count();
}

}  // namespace

ActorRegistry::ActorRegistry(const Limits& limits, std::function<void(const ActorKey&)> on_gone)
    : limits_(limits), on_gone_(std::move(on_gone)) {}

bool ActorRegistry::HasRoomFor(const std::string& name) const {
  return alive_ < limits_.max_actors || std::any_of(actors_.begin(), actors_.end(), [&](const auto& entry) {
           return !entry.second.gone && entry.second.name == name;
         });
}

bool ActorRegistry::Join(const ActorKey& key, const PeerId& peer, const std::string& name, Time now, bool measures) {
  // A heartbeat would bring an earlier one back.
  const ActorKey first_incarnation{key.actor_id, 0};
  for (auto old = actors_.lower_bound(first_incarnation); old != actors_.end() && old->first < key; ++old) {
    if (old->second.gone) continue;
    LogWarning(StrCat(ActorName(old->first), " has been replaced and counts as gone"));
    CountAsGone(old->first, old->second);
  }
  const auto known = actors_.find(key);
  if (known == actors_.end() || known->second.gone) {
    if (alive_ >= limits_.max_actors) return false;
    ++alive_;
  }
  const bool is_new = known == actors_.end();
  Actor& actor = actors_[key];
  if (is_new) {
    LogInfo(StrCat("'", name, "' joins as ", ActorName(key)));
    actor.joined = now;
  }
  actor.peer = peer;
  actor.name = name;
  actor.last_heard = now;
  actor.gone = false;
  actor.measures = measures;
  any_measures_ = any_measures_ || measures;
  NoteWork(now);  // It is given time for some.
  return true;
}

bool ActorRegistry::MarkHeard(const ActorKey& key, const PeerId& peer, Time now) {
  const auto found = actors_.find(key);
  if (found == actors_.end()) return false;
  Actor& actor = found->second;
  if (actor.gone) {
    LogInfo(StrCat(ActorName(key), " is heard again"));
    ++alive_;
  }
  actor.gone = false;
  actor.peer = peer;
  actor.last_heard = now;
  return true;
}

void ActorRegistry::NoteWindows(const ActorKey& key, double window_s, Time now) {
  const auto found = actors_.find(key);
  if (found == actors_.end() || !found->second.measures) return;
  found->second.measuring_s = SecondsBetween(found->second.joined, now);
  found->second.window_s = std::min(window_s, found->second.measuring_s);
}

std::optional<bool> ActorRegistry::Measures(const ActorKey& key) const {
  const auto exact = actors_.find(key);
  if (exact != actors_.end()) return exact->second.measures;
  const auto after = actors_.upper_bound({key.actor_id, std::numeric_limits<uint32_t>::max()});
  if (after == actors_.begin()) return std::nullopt;
  const auto& [latest, actor] = *std::prev(after);
  return latest.actor_id == key.actor_id ? std::optional(actor.measures) : std::nullopt;
}

std::vector<ActorKey> ActorRegistry::Measuring() const {
  std::vector<ActorKey> measuring;
  for (const auto& [key, actor] : actors_) {
    if (actor.measures && !actor.gone) measuring.push_back(key);
  }
  return measuring;
}

int64_t ActorRegistry::num_measuring() const {
  if (!any_measures_) return 0;  // As in most runs, with actors in hundreds.
  return std::ranges::count_if(actors_, [](const auto& entry) { return entry.second.measures && !entry.second.gone; });
}

double ActorRegistry::window_s() const {
  double sum = 0;
  for (const auto& [key, actor] : actors_) sum += actor.window_s;
  return sum;
}

double ActorRegistry::measuring_s() const {
  double sum = 0;
  for (const auto& [key, actor] : actors_) sum += actor.measuring_s;
  return sum;
}

void ActorRegistry::WithPeerOf(const ActorKey& key, const std::function<void(const PeerId&)>& visit) const {
  const auto found = actors_.find(key);
  if (found != actors_.end() && !found->second.gone) visit(found->second.peer);
}

bool ActorRegistry::Leave(const ActorKey& key) {
  const auto found = actors_.find(key);
  if (found == actors_.end()) return false;
  CountAsGone(key, found->second);
  return true;
}

void ActorRegistry::CountAsGone(const ActorKey& key, Actor& actor) {
  if (std::exchange(actor.gone, true)) return;
  --alive_;
  on_gone_(key);
}

void ActorRegistry::ExpireSilent(Time now) {
  for (auto& [key, actor] : actors_) {
    if (actor.gone || SecondsBetween(actor.last_heard, now) <= limits_.silent_s) continue;
    LogWarning(StrCat(ActorName(key), " has been silent for ", limits_.silent_s, " s and counts as gone"));
    CountAsGone(key, actor);
  }
}

void ActorRegistry::ForEachAlive(const std::function<void(const ActorKey&, const PeerId&)>& visit) const {
  for (const auto& [key, actor] : actors_) {
    if (!actor.gone) visit(key, actor.peer);
  }
}

std::optional<std::string> ActorRegistry::FindHang(Time now) {
  const bool stood_still = now - std::exchange(last_hang_check_, now) > kLearnerStoodStill;
  if (stood_still || actors_.empty()) NoteWork(now);
  const double silent_s = SecondsBetween(last_work_, now);
  if (limits_.hang_s == 0 || silent_s <= limits_.hang_s) return std::nullopt;
  const auto& [key, actor] = *std::max_element(actors_.begin(), actors_.end(), [](const auto& a, const auto& b) {
    return a.second.last_heard < b.second.last_heard;
  });
  return StrCat("stage 'actors' hangs: no episode has come for ", silent_s,
                " s, expected one within learner.watchdog_s, ", limits_.hang_s, " s; ", alive_, " of ", actors_.size(),
                " actors are alive, and the one heard last, '", actor.name, "' (", ActorName(key), "), was heard ",
                SecondsBetween(actor.last_heard, now), " s ago");
}

}  // namespace emplace
