#include "learner/ledger.h"

#include <algorithm>
#include <limits>

#include "common/error.h"
#include "common/json_text.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Json = nlohmann::ordered_json;

Json CountsToJson(const LedgerCounts& counts) {
  return {{"produced", counts.produced}, {"trained", counts.trained}, {"stale", counts.stale},
          {"rejected", counts.rejected}, {"lost", counts.lost}};
}

LedgerCounts CountsFromJson(const nlohmann::json& json) {
  LedgerCounts counts;
  json.at("produced").get_to(counts.produced);
  json.at("trained").get_to(counts.trained);
  json.at("stale").get_to(counts.stale);
  json.at("rejected").get_to(counts.rejected);
  return counts;
}

void SettleCounts(LedgerCounts& counts) {
  counts.lost = counts.produced - counts.trained - counts.stale - counts.rejected;
}

// Gaps are kept as single numbers; an actor that skips further ahead than this is not one of ours.
constexpr uint64_t kFurthestAhead = 1'000'000;

}  // namespace

LedgerCounts& LedgerCounts::operator+=(const LedgerCounts& other) {
  produced += other.produced;
  trained += other.trained;
  stale += other.stale;
  rejected += other.rejected;
  lost += other.lost;
  return *this;
}

Ledger::Incarnation* Ledger::Find(const ActorKey& actor) {
  if (actor.actor_id >= actors_.size()) return nullptr;
  auto& incarnations = actors_[actor.actor_id].incarnations;
  const auto found = incarnations.find(actor.incarnation);
  return found == incarnations.end() ? nullptr : &found->second;
}

ActorKey Ledger::Join(const std::string& name, uint64_t nonce, int64_t unix_seconds) {
  const MutexLock lock(mu_);
  size_t id = 0;
  while (id < actors_.size() && actors_[id].name != name) ++id;
  if (id == actors_.size()) actors_.push_back({name, {}});
  auto& incarnations = actors_[id].incarnations;
  for (const auto& [number, incarnation] : incarnations) {
    if (incarnation.nonce == nonce) return {static_cast<uint32_t>(id), number};
  }
  auto number = static_cast<uint32_t>(std::clamp<int64_t>(unix_seconds, 1, std::numeric_limits<uint32_t>::max()));
  if (!incarnations.empty()) number = std::max(number, incarnations.rbegin()->first + 1);
  incarnations[number].nonce = nonce;
  return {static_cast<uint32_t>(id), number};
}

Ledger::Admission Ledger::Admit(const ActorKey& actor, uint64_t sequence) {
  const MutexLock lock(mu_);
  Incarnation* const incarnation = Find(actor);
  if (incarnation == nullptr || sequence == 0 || sequence > incarnation->watermark + kFurthestAhead) return Admission::kUnknown;
  if (sequence <= incarnation->watermark || !incarnation->beyond.try_emplace(sequence, true).second) {
    return Admission::kDuplicate;
  }
  while (!incarnation->beyond.empty() && incarnation->beyond.begin()->first == incarnation->watermark + 1) {
    incarnation->beyond.erase(incarnation->beyond.begin());
    ++incarnation->watermark;
  }
  incarnation->counts.produced = std::max(incarnation->counts.produced, sequence);
  return Admission::kNew;
}

void Ledger::NoteProduced(const ActorKey& actor, uint64_t produced) {
  const MutexLock lock(mu_);
  Incarnation* const incarnation = Find(actor);
  if (incarnation == nullptr || produced > incarnation->watermark + kFurthestAhead) return;
  incarnation->counts.produced = std::max(incarnation->counts.produced, produced);
}

void Ledger::CountTrained(const ActorKey& actor) {
  const MutexLock lock(mu_);
  if (Incarnation* const incarnation = Find(actor)) ++incarnation->counts.trained;
}

void Ledger::CountStale(const ActorKey& actor) {
  const MutexLock lock(mu_);
  if (Incarnation* const incarnation = Find(actor)) ++incarnation->counts.stale;
}

void Ledger::CountRejected(const ActorKey& actor) {
  const MutexLock lock(mu_);
  if (Incarnation* const incarnation = Find(actor)) ++incarnation->counts.rejected;
}

void Ledger::Settle() {
  const MutexLock lock(mu_);
  for (Actor& actor : actors_) {
    for (auto& [number, incarnation] : actor.incarnations) SettleCounts(incarnation.counts);
  }
}

LedgerCounts Ledger::CountsOf(const Actor& actor) const {
  LedgerCounts sum;
  for (const auto& [number, incarnation] : actor.incarnations) sum += incarnation.counts;
  return sum;
}

LedgerCounts Ledger::Total() const {
  const MutexLock lock(mu_);
  LedgerCounts total;
  for (const Actor& actor : actors_) total += CountsOf(actor);
  return total;
}

std::map<std::string, LedgerCounts> Ledger::ByActor() const {
  const MutexLock lock(mu_);
  std::map<std::string, LedgerCounts> by_actor;
  for (const Actor& actor : actors_) by_actor[actor.name] = CountsOf(actor);
  return by_actor;
}

std::string Ledger::Summary() const {
  Json actors = Json::object();
  {
    const MutexLock lock(mu_);
    for (const Actor& actor : actors_) {
      actors[actor.name] = CountsToJson(CountsOf(actor));
      actors[actor.name]["incarnations"] = actor.incarnations.size();
    }
  }
  return Json{{"total", CountsToJson(Total())}, {"actors", std::move(actors)}}.dump(1) + "\n";
}

std::string Ledger::ToJson() const {
  const MutexLock lock(mu_);
  Json actors = Json::array();
  for (const Actor& actor : actors_) {
    Json incarnations = Json::array();
    for (const auto& [number, incarnation] : actor.incarnations) {
      Json entry = CountsToJson(incarnation.counts);
      entry["incarnation"] = number;
      entry["nonce"] = incarnation.nonce;
      entry["watermark"] = incarnation.watermark;
      entry["beyond"] = Json::array();
      for (const auto& [sequence, seen] : incarnation.beyond) entry["beyond"].push_back(sequence);
      incarnations.push_back(std::move(entry));
    }
    actors.push_back({{"name", actor.name}, {"incarnations", std::move(incarnations)}});
  }
  return actors.dump();
}

void Ledger::FromJson(const std::string& text) {
  const nlohmann::json saved = ParseJson(text, "ledger");
  std::vector<Actor> actors;
  try {
    for (const nlohmann::json& entry : saved) {
      Actor actor;
      entry.at("name").get_to(actor.name);
      for (const nlohmann::json& old : entry.at("incarnations")) {
        Incarnation& incarnation = actor.incarnations[old.at("incarnation").get<uint32_t>()];
        old.at("nonce").get_to(incarnation.nonce);
        old.at("watermark").get_to(incarnation.watermark);
        for (const nlohmann::json& sequence : old.at("beyond")) incarnation.beyond[sequence.get<uint64_t>()] = true;
        incarnation.counts = CountsFromJson(old);
        SettleCounts(incarnation.counts);
      }
      actors.push_back(std::move(actor));
    }
  } catch (const nlohmann::json::exception& error) {
    throw BadInput(StrCat("ledger: damaged: ", error.what()));
  }
  const MutexLock lock(mu_);
  actors_ = std::move(actors);
}

}  // namespace emplace
