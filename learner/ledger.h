// The books of all episodes, for each actor and across restarts: produced = trained + stale + rejected + lost. Any
// thread may call any function.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/threads/mutex.h"
#include "common/trajectory.h"

namespace emplace {

// The name of an incarnation in the log: "actor 3, incarnation 7".
std::string ActorName(const ActorKey& key);

struct LedgerCounts {
  uint64_t produced = 0;  // Episodes that the actor is known to have finished.
  uint64_t trained = 0;   // Episodes that went into an update.
  uint64_t stale = 0;     // Episodes that arrived too old, or after the last update.
  uint64_t rejected = 0;  // Episodes that did not pass a check.
  uint64_t lost = 0;      // The rest: episodes that never arrived or, while the run goes on, are still on the way.
  // Of all these, episodes that have passed the checks with rewards measured on hardware, and of those, episodes that
  // another actor has confirmed by measuring again. The others' rewards are unverified.
  uint64_t measured = 0;
  uint64_t measured_again = 0;

  LedgerCounts& operator+=(const LedgerCounts& other);
};

class Ledger {
 public:
  // Whether Join may be called: it bounds what peers can make the ledger hold, far above what a run needs.
  bool HasRoomFor(const std::string& name, uint64_t nonce) const;
  // Returns the key of an actor process. The id belongs to `name`, the incarnation to the process, which `nonce`
  // identifies: a repeated Hello gets the same key. An incarnation is at least the start time in seconds, so that
  // incarnations rise even when a resumed learner has forgotten some.
  ActorKey Join(const std::string& name, uint64_t nonce, int64_t unix_seconds);

  // Adds an incarnation of this name that joined an earlier learner process and that this ledger does not know, because
  // it joined after the checkpoint. From now on its episodes are admitted. Does nothing when the number is taken, when
  // it is more than a day ahead of the clock, or when the name has adopted a hundred. REQUIRES: the name has joined.
  void Adopt(const std::string& name, uint32_t incarnation, uint64_t nonce, int64_t unix_seconds);

  enum class Admission { kNew, kDuplicate, kUnknown };
  // Returns whether this sequence number comes for the first time; a new one counts as produced and received. kUnknown:
  // the incarnation has not joined. The ledger remembers the latest 1024 gaps of missing numbers; an episode from an
  // older gap is refused like a duplicate and stays lost.
  Admission Admit(const ActorKey& actor, uint64_t sequence);
  // Notes the highest sequence number that the actor says it has used.
  void NoteProduced(const ActorKey& actor, uint64_t produced);

  // Number of the actor's episodes that are newer than any that has come: they are in its queue or on the network.
  uint64_t UnderWay(const ActorKey& actor) const;
  // The highest sequence number that has come from the actor; 0: none has.
  uint64_t Newest(const ActorKey& actor) const;

  // REQUIRES: the episode was admitted as new and is not counted yet.
  void CountTrained(const ActorKey& actor) { Count(actor, &LedgerCounts::trained); }
  void CountStale(const ActorKey& actor) { Count(actor, &LedgerCounts::stale); }
  void CountRejected(const ActorKey& actor) { Count(actor, &LedgerCounts::rejected); }
  // Notes that an admitted episode has passed the checks with measured rewards; it is counted besides. again: another
  // actor has confirmed them.
  void CountMeasured(const ActorKey& actor, bool again);

  // These balance at any time, because `lost` is computed as the rest.
  LedgerCounts Total() const;
  std::map<std::string, LedgerCounts> ByActor() const;

  // The text of ledger.json: {"total": {...}, "actors": {name: {..., "incarnations": n}}}, with
  // every count by its name.
  std::string Summary() const;
  // The whole state as text for a checkpoint, and back. FromJson throws BadInput for damaged text. Episodes that had
  // come but were not counted yet when the state was saved stay lost.
  std::string ToJson() const;
  void FromJson(const std::string& text);

 private:
  // The sequence numbers that have come are all those up to `highest` that are in no gap.
  struct Incarnation {
    uint64_t nonce = 0;
    uint64_t highest = 0;
    std::map<uint64_t, uint64_t> gaps;  // First missing number of each gap -> its last.
    LedgerCounts counts;                // Without `lost`.

    bool Receive(uint64_t sequence);  // Returns false when the number has come before.
  };
  struct Actor {
    std::string name;
    std::map<uint32_t, Incarnation> incarnations;
    size_t adopted = 0;  // By this learner process.
  };
  // actors_.size(): there is no actor of this name yet.
  size_t IdOf(const std::string& name) const EMPLACE_REQUIRES(mu_);
  const Incarnation* Find(const ActorKey& actor) const EMPLACE_REQUIRES(mu_);
  Incarnation* Find(const ActorKey& actor) EMPLACE_REQUIRES(mu_);
  void Count(const ActorKey& actor, uint64_t LedgerCounts::*what);
  static LedgerCounts CountsOf(const Actor& actor);
  LedgerCounts TotalLocked() const EMPLACE_REQUIRES(mu_);

  mutable Mutex mu_;
  std::vector<Actor> actors_ EMPLACE_GUARDED_BY(mu_);  // Indexed by actor id.
};

}  // namespace emplace
