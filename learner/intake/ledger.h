// The ledger that balances (design, section 6): produced = trained + stale + rejected + lost, by actor, across
// restarts. Every function may be called from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "common/trajectory.h"

namespace emplace {

// What the log calls it: "actor 3, incarnation 7".
std::string ActorName(const ActorKey& key);

struct LedgerCounts {
  uint64_t produced = 0;  // Episodes that the actor is known to have finished.
  uint64_t trained = 0;   // Went into an update.
  uint64_t stale = 0;     // Arrived too old, or too late for a last update.
  uint64_t rejected = 0;  // Arrived unsound.
  uint64_t lost = 0;      // The rest: never arrived, or, while the run goes on, still under way.

  LedgerCounts& operator+=(const LedgerCounts& other);
};

class Ledger {
 public:
  // The key of a process that calls itself `name`: the id belongs to the name, the incarnation to the process
  // (`nonce`), whose repeated Hello gets the same key. Incarnations are start times in seconds, so that they rise even
  // when a resumed learner has forgotten some.
  ActorKey Join(const std::string& name, uint64_t nonce, int64_t unix_seconds);

  // An incarnation of this name that another learner has let in: this one had not heard of it, or has forgotten it with
  // all that was since the checkpoint. Now what it still sends is admitted. No effect where the number is taken.
  // REQUIRES: the name has joined.
  void Adopt(const std::string& name, uint32_t incarnation, uint64_t nonce);

  enum class Admission { kNew, kDuplicate, kUnknown };
  // Whether this sequence number comes for the first time; a new one counts as produced and received. Unknown: nobody
  // that this ledger knows sent it. Of the numbers that are overdue, the latest 1024 stretches are remembered; what
  // comes still later is refused like a duplicate, and stays lost.
  Admission Admit(const ActorKey& actor, uint64_t sequence);
  // What an actor says of itself: its highest sequence number.
  void NoteProduced(const ActorKey& actor, uint64_t produced);

  // How many of its episodes are newer than any that has come: in its queues or on the network.
  uint64_t UnderWay(const ActorKey& actor) const;

  // REQUIRES: admitted as new, and not counted yet.
  void CountTrained(const ActorKey& actor) { Count(actor, &LedgerCounts::trained); }
  void CountStale(const ActorKey& actor) { Count(actor, &LedgerCounts::stale); }
  void CountRejected(const ActorKey& actor) { Count(actor, &LedgerCounts::rejected); }

  // These balance at any time: lost is what remains.
  LedgerCounts Total() const;
  std::map<std::string, LedgerCounts> ByActor() const;

  // {"total": {...}, "actors": {name: {..., "incarnations": n}}}: ledger.json.
  std::string Summary() const;
  // Everything, for a checkpoint, and back. FromJson throws BadInput for damaged text. What had come but was not
  // counted when the state was saved stays lost.
  std::string ToJson() const;
  void FromJson(const std::string& text);

 private:
  // The sequence numbers seen: all up to `highest` that are in no gap.
  struct Incarnation {
    uint64_t nonce = 0;
    uint64_t highest = 0;
    std::map<uint64_t, uint64_t> gaps;  // First missing number -> last missing number.
    LedgerCounts counts;                // All but `lost`.

    bool Receive(uint64_t sequence);  // False: seen before.
  };
  struct Actor {
    std::string name;
    std::map<uint32_t, Incarnation> incarnations;
  };
  const Incarnation* Find(const ActorKey& actor) const EMPLACE_REQUIRES(mu_);
  Incarnation* Find(const ActorKey& actor) EMPLACE_REQUIRES(mu_);
  void Count(const ActorKey& actor, uint64_t LedgerCounts::*what);
  static LedgerCounts CountsOf(const Actor& actor);
  LedgerCounts TotalLocked() const EMPLACE_REQUIRES(mu_);

  mutable Mutex mu_;
  std::vector<Actor> actors_ EMPLACE_GUARDED_BY(mu_);  // By actor id.
};

}  // namespace emplace
