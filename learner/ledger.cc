#include "learner/ledger.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "common/error.h"
#include "common/files/json_text.h"
#include "common/strings.h"

namespace emplace {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson CountsToJson(const LedgerCounts& counts) {
  return {{"produced", counts.produced},
          {"trained", counts.trained},
          {"stale", counts.stale},
          {"rejected", counts.rejected},
          {"lost", counts.lost},
          {"measured", counts.measured},
          {"measured_again", counts.measured_again}};
}

uint64_t Used(const LedgerCounts& counts) { return counts.trained + counts.stale + counts.rejected; }

// Of one incarnation, in a file: far above use, and so low that no sum of them leaves 64 bits.
constexpr uint64_t kMostEpisodes = uint64_t{1} << 40;
// An actor that skips further ahead than this is not one of ours.
constexpr uint64_t kFurthestAhead = 1'000'000;
// Bounds the memory for numbers that are overdue. An actor sends in order, so a gap means that a connection broke.
constexpr size_t kMaxGaps = 1024;
// An incarnation is at least the time at which it joined, in seconds; no two learners' clocks differ by more than this.
constexpr uint32_t kMostClockError_s = 24 * 3600;
constexpr size_t kMostActors = 20'000;          // Names, over all sittings of a run.
constexpr uint32_t kMostIncarnations = 10'000;  // Of a name, likewise.
// Number of an incarnation in a file, so that all later ones have room above it.
constexpr uint32_t kHighestIncarnation = std::numeric_limits<uint32_t>::max() - kMostIncarnations;
constexpr size_t kMostAdopted = 100;  // Incarnations of a name that an earlier learner knew and this one does not.

// A template since the type is the ledger's own affair.
template <typename Incarnation>
void ReadIncarnation(const nlohmann::json& json, Incarnation& incarnation) {
  const auto number = [&json](const char* key) {
    return WholeNumber(json.at(key), StrCat("ledger: ", key), kMostEpisodes);
  };
  incarnation.nonce = WholeNumber(json.at("nonce"), "ledger: nonce");
  incarnation.highest = number("highest");
  incarnation.counts.produced = number("produced");
  incarnation.counts.trained = number("trained");
  incarnation.counts.stale = number("stale");
  incarnation.counts.rejected = number("rejected");
  // Ledgers of earlier versions have none.
  if (json.contains("measured")) incarnation.counts.measured = number("measured");
  if (json.contains("measured_again")) incarnation.counts.measured_again = number("measured_again");
  if (incarnation.highest > incarnation.counts.produced) {
    throw BadInput(StrCat("ledger: episode ", incarnation.highest, " has come, expected at most the ",
                          incarnation.counts.produced, " produced"));
  }
  uint64_t come = incarnation.highest;
  uint64_t before = 0;  // The last number of the gap before.
  for (const nlohmann::json& gap : json.at("gaps")) {
    const uint64_t first = WholeNumber(gap.at(0), "ledger: a gap's first number", kMostEpisodes);
    const uint64_t last = WholeNumber(gap.at(1), "ledger: a gap's last number", kMostEpisodes);
    if (first <= before || last < first || last >= incarnation.highest) {
      throw BadInput(StrCat("ledger: the gap ", first, "..", last, " does not lie between ", before,
                            " and the highest number, ", incarnation.highest));
    }
    incarnation.gaps[first] = last;
    come -= last - first + 1;
    before = last;
  }
  if (Used(incarnation.counts) > come) {
    throw BadInput(StrCat("ledger: ", Used(incarnation.counts), " episodes were used, expected at most the ", come,
                          " that have come"));
  }
  if (incarnation.counts.measured > come || incarnation.counts.measured_again > incarnation.counts.measured) {
    throw BadInput(StrCat("ledger: ", incarnation.counts.measured, " episodes were measured, and ",
                          incarnation.counts.measured_again, " of them again, expected at most the ", come,
                          " that have come"));
  }
}

// No number that FromJson would refuse gets in.
bool TooFarAhead(uint64_t sequence, uint64_t highest) {
  return sequence > kMostEpisodes || (sequence > highest && sequence - highest > kFurthestAhead);
}

}  // namespace

std::string ActorName(const ActorKey& key) { return StrCat("actor ", key.actor_id, ", incarnation ", key.incarnation); }

LedgerCounts& LedgerCounts::operator+=(const LedgerCounts& other) {
  produced += other.produced;
  trained += other.trained;
  stale += other.stale;
  rejected += other.rejected;
  lost += other.lost;
  measured += other.measured;
  measured_again += other.measured_again;
  return *this;
}

const Ledger::Incarnation* Ledger::Find(const ActorKey& actor) const {
  if (actor.actor_id >= actors_.size()) return nullptr;
  const auto& incarnations = actors_[actor.actor_id].incarnations;
  const auto found = incarnations.find(actor.incarnation);
  return found == incarnations.end() ? nullptr : &found->second;
}

Ledger::Incarnation* Ledger::Find(const ActorKey& actor) {
  return const_cast<Incarnation*>(static_cast<const Ledger*>(this)->Find(actor));
}

bool Ledger::Incarnation::Receive(uint64_t sequence) {
  if (sequence > highest) {
    if (sequence > highest + 1) gaps[highest + 1] = sequence - 1;
    if (gaps.size() > kMaxGaps) gaps.erase(gaps.begin());
    highest = sequence;
    return true;
  }
  auto gap = gaps.upper_bound(sequence);
  if (gap == gaps.begin()) return false;
  const auto [first, last] = *--gap;
  if (last < sequence) return false;
  gaps.erase(gap);
  if (first < sequence) gaps[first] = sequence - 1;
  if (sequence < last) gaps[sequence + 1] = last;
  return true;
}

size_t Ledger::IdOf(const std::string& name) const {
  return static_cast<size_t>(std::ranges::find(actors_, name, &Actor::name) - actors_.begin());
}

bool Ledger::HasRoomFor(const std::string& name, uint64_t nonce) const {
  const MutexLock lock(mu_);
  const size_t id = IdOf(name);
  if (id == actors_.size()) return actors_.size() < kMostActors;
  const auto& incarnations = actors_[id].incarnations;
  return incarnations.size() < kMostIncarnations ||
         std::ranges::any_of(incarnations, [&](const auto& entry) { return entry.second.nonce == nonce; });
}

ActorKey Ledger::Join(const std::string& name, uint64_t nonce, int64_t unix_seconds) {
  const MutexLock lock(mu_);
  const size_t id = IdOf(name);
  if (id == actors_.size()) actors_.push_back({.name = name, .incarnations = {}});
  auto& incarnations = actors_[id].incarnations;
  for (const auto& [number, incarnation] : incarnations) {
    if (incarnation.nonce == nonce) return {static_cast<uint32_t>(id), number};
  }
  auto number = static_cast<uint32_t>(std::clamp<int64_t>(unix_seconds, 1, std::numeric_limits<uint32_t>::max()));
  if (!incarnations.empty()) number = std::max(number, incarnations.rbegin()->first + 1);
  incarnations[number].nonce = nonce;
  return {static_cast<uint32_t>(id), number};
}

void Ledger::Adopt(const std::string& name, uint32_t incarnation, uint64_t nonce, int64_t unix_seconds) {
  const MutexLock lock(mu_);
  const size_t id = IdOf(name);
  EMPLACE_CHECK(id < actors_.size());
  Actor& actor = actors_[id];
  if (int64_t{incarnation} > unix_seconds + kMostClockError_s || actor.adopted >= kMostAdopted) return;
  if (!actor.incarnations.contains(incarnation)) ++actor.adopted;
  actor.incarnations.emplace(incarnation, Incarnation{.nonce = nonce, .highest = 0, .gaps = {}, .counts = {}});
}

Ledger::Admission Ledger::Admit(const ActorKey& actor, uint64_t sequence) {
  const MutexLock lock(mu_);
  Incarnation* const incarnation = Find(actor);
  if (incarnation == nullptr || sequence == 0 || TooFarAhead(sequence, incarnation->highest))
    return Admission::kUnknown;
  if (!incarnation->Receive(sequence)) return Admission::kDuplicate;
  incarnation->counts.produced = std::max(incarnation->counts.produced, sequence);
  return Admission::kNew;
}

void Ledger::NoteProduced(const ActorKey& actor, uint64_t produced) {
  const MutexLock lock(mu_);
  Incarnation* const incarnation = Find(actor);
  if (incarnation == nullptr || TooFarAhead(produced, incarnation->highest)) return;
  incarnation->counts.produced = std::max(incarnation->counts.produced, produced);
}

uint64_t Ledger::UnderWay(const ActorKey& actor) const {
  const MutexLock lock(mu_);
  const Incarnation* const incarnation = Find(actor);
  return incarnation == nullptr ? 0 : incarnation->counts.produced - incarnation->highest;
}

uint64_t Ledger::Newest(const ActorKey& actor) const {
  const MutexLock lock(mu_);
  const Incarnation* const incarnation = Find(actor);
  return incarnation == nullptr ? 0 : incarnation->highest;
}

void Ledger::Count(const ActorKey& actor, uint64_t LedgerCounts::*what) {
  const MutexLock lock(mu_);
  Incarnation* const incarnation = Find(actor);
  EMPLACE_CHECK(incarnation != nullptr && Used(incarnation->counts) < incarnation->counts.produced);
  ++(incarnation->counts.*what);
}

void Ledger::CountMeasured(const ActorKey& actor, bool again) {
  const MutexLock lock(mu_);
  Incarnation* const incarnation = Find(actor);
  EMPLACE_CHECK(incarnation != nullptr && incarnation->counts.measured < incarnation->counts.produced);
  ++incarnation->counts.measured;
  if (again) ++incarnation->counts.measured_again;
}

LedgerCounts Ledger::CountsOf(const Actor& actor) {
  LedgerCounts sum;
  for (const auto& [number, incarnation] : actor.incarnations) sum += incarnation.counts;
  sum.lost = sum.produced - Used(sum);
  return sum;
}

LedgerCounts Ledger::TotalLocked() const {
  LedgerCounts total;
  for (const Actor& actor : actors_) total += CountsOf(actor);
  return total;
}

LedgerCounts Ledger::Total() const {
  const MutexLock lock(mu_);
  return TotalLocked();
}

std::map<std::string, LedgerCounts> Ledger::ByActor() const {
  const MutexLock lock(mu_);
  std::map<std::string, LedgerCounts> by_actor;
  for (const Actor& actor : actors_) by_actor[actor.name] = CountsOf(actor);
  return by_actor;
}

std::string Ledger::Summary() const {
  const MutexLock lock(mu_);
  OrderedJson actors = OrderedJson::object();
  for (const Actor& actor : actors_) {
    actors[actor.name] = CountsToJson(CountsOf(actor));
    actors[actor.name]["incarnations"] = actor.incarnations.size();
  }
  return OrderedJson{{"total", CountsToJson(TotalLocked())}, {"actors", std::move(actors)}}.dump(1) + "\n";
}

std::string Ledger::ToJson() const {
  const MutexLock lock(mu_);
  OrderedJson actors = OrderedJson::array();
  for (const Actor& actor : actors_) {
    OrderedJson incarnations = OrderedJson::array();
    for (const auto& [number, incarnation] : actor.incarnations) {
      OrderedJson entry = CountsToJson(incarnation.counts);
      entry.erase("lost");  // Follows from the others.
      // Without measured rewards, what is saved is what it was before there were any.
      for (const char* const key : {"measured", "measured_again"}) {
        if (entry[key] == 0) entry.erase(key);
      }
      entry["incarnation"] = number;
      entry["nonce"] = incarnation.nonce;
      entry["highest"] = incarnation.highest;
      entry["gaps"] = OrderedJson::array();
      for (const auto& [first, last] : incarnation.gaps) entry["gaps"].push_back({first, last});
      incarnations.push_back(std::move(entry));
    }
    actors.push_back({{"name", actor.name}, {"incarnations", std::move(incarnations)}});
  }
  return actors.dump();
}

void Ledger::FromJson(const std::string& text) {
  const nlohmann::json saved = ParseJson(text, "ledger");
  std::vector<Actor> actors;
  std::set<std::string> names;
  try {
    if (!saved.is_array()) throw BadInput(StrCat("ledger: is ", ShownJson(saved), ", expected a list of actors"));
    for (const nlohmann::json& entry : saved) {
      Actor actor;
      entry.at("name").get_to(actor.name);
      if (!names.insert(actor.name).second) throw BadInput(StrCat("ledger: actor '", actor.name, "' is given twice"));
      for (const nlohmann::json& old : entry.at("incarnations")) {
        const auto number =
            static_cast<uint32_t>(WholeNumber(old.at("incarnation"), "ledger: incarnation", kHighestIncarnation));
        const auto [at, is_first] = actor.incarnations.try_emplace(number);
        if (!is_first)
          throw BadInput(StrCat("ledger: incarnation ", number, " of actor '", actor.name, "' is given twice"));
        ReadIncarnation(old, at->second);
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
