// The ledger that a checkpoint holds, and what a resumed run does with it. The input is its JSON.
#include <initializer_list>

#include "learner/ledger.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

void CheckBalance(const emplace::LedgerCounts& counts) {
  EMPLACE_CHECK(counts.trained <= counts.produced && counts.stale <= counts.produced);
  EMPLACE_CHECK(counts.rejected <= counts.produced && counts.lost <= counts.produced);
  EMPLACE_CHECK(counts.produced == counts.trained + counts.stale + counts.rejected + counts.lost);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace emplace;
  Ledger ledger;
  const auto read = Accepted([&] {
    ledger.FromJson(std::string(InputText(data, size)));
    return true;
  });
  if (!read) return 0;
  const std::string written = ledger.ToJson();
  Ledger again;
  again.FromJson(written);
  EMPLACE_CHECK(again.ToJson() == written);
  CheckBalance(ledger.Total());
  ledger.Summary();

  // The run goes on: an actor of old sends what it still has, and one joins.
  const ActorKey joined = ledger.Join("host/0", 7, 1'700'000'000);
  for (const ActorKey& actor : {joined, ActorKey{0, 1}, ActorKey{0, 5}}) {
    for (const uint64_t sequence : std::initializer_list<uint64_t>{1, 3, 2, 3, 9}) {
      if (ledger.Admit(actor, sequence) != Ledger::Admission::kNew) continue;
      EMPLACE_CHECK(ledger.Admit(actor, sequence) == Ledger::Admission::kDuplicate);
      ledger.CountTrained(actor);
    }
    ledger.NoteProduced(actor, 12);
  }
  CheckBalance(ledger.Total());
  return 0;
}
