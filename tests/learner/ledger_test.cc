#include "learner/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "common/error.h"
#include "common/rng.h"

namespace emplace {
namespace {

bool IsRefused(const std::string& saved) {
  try {
    Ledger().FromJson(saved);
  } catch (const Error& error) {
    return error.kind() == Error::Kind::kBadInput;
  }
  return false;
}

void ExpectBalanced(const LedgerCounts& counts) {
  EXPECT_EQ(counts.produced, counts.trained + counts.stale + counts.rejected + counts.lost);
}

void ExpectEqual(const LedgerCounts& a, const LedgerCounts& b) {
  EXPECT_EQ(a.produced, b.produced);
  EXPECT_EQ(a.trained, b.trained);
  EXPECT_EQ(a.stale, b.stale);
  EXPECT_EQ(a.rejected, b.rejected);
  EXPECT_EQ(a.lost, b.lost);
}

TEST(Ledger, TheIdBelongsToTheNameTheIncarnationToTheProcess) {
  Ledger ledger;
  const ActorKey first = ledger.Join("host/0", 7, 100);
  EXPECT_EQ(ledger.Join("host/0", 7, 105), first);  // A repeated Hello.
  const ActorKey other = ledger.Join("host/1", 7, 105);
  EXPECT_NE(other.actor_id, first.actor_id);
  const ActorKey restarted = ledger.Join("host/0", 8, 100);  // Within the same second.
  EXPECT_EQ(restarted.actor_id, first.actor_id);
  EXPECT_GT(restarted.incarnation, first.incarnation);
  EXPECT_GT(ledger.Join("host/0", 9, 90).incarnation, restarted.incarnation);  // A clock that was set back.
}

TEST(Ledger, EachNumberIsAdmittedOnceInWhateverOrderItComes) {
  Rng rng(3);
  for (int round = 0; round < 50; ++round) {
    Ledger ledger;
    const ActorKey actor = ledger.Join("a", 1, 1);
    std::set<uint64_t> seen;
    uint64_t highest = 0;
    for (int i = 0; i < 400; ++i) {
      const auto sequence = static_cast<uint64_t>(rng.UniformInt(1, 300));
      const bool fresh = seen.insert(sequence).second;
      highest = std::max(highest, sequence);
      ASSERT_EQ(ledger.Admit(actor, sequence), fresh ? Ledger::Admission::kNew : Ledger::Admission::kDuplicate);
      if (fresh) ledger.CountTrained(actor);
    }
    const LedgerCounts total = ledger.Total();
    EXPECT_EQ(total.produced, highest);
    EXPECT_EQ(total.trained, seen.size());
    EXPECT_EQ(total.lost, highest - seen.size());
  }
}

TEST(Ledger, StrangersAreUnknown) {
  Ledger ledger;
  const ActorKey actor = ledger.Join("a", 1, 50);
  EXPECT_EQ(ledger.Admit({actor.actor_id + 1, actor.incarnation}, 1), Ledger::Admission::kUnknown);
  EXPECT_EQ(ledger.Admit({actor.actor_id, actor.incarnation + 1}, 1), Ledger::Admission::kUnknown);
  EXPECT_EQ(ledger.Admit(actor, 0), Ledger::Admission::kUnknown);
  EXPECT_EQ(ledger.Admit(actor, ~uint64_t{0}), Ledger::Admission::kUnknown);
  ledger.NoteProduced(actor, ~uint64_t{0});  // Not believed.
  ledger.NoteProduced({9, 9}, 5);
  EXPECT_EQ(ledger.Total().produced, 0U);
}

TEST(Ledger, WhatAnActorStillHasFromALearnerBeforeIsAdmittedAndBalances) {
  Ledger ledger;  // Of a learner that has lost all the one before knew.
  const ActorKey now = ledger.Join("a", 2, 60);
  const ActorKey before{now.actor_id, 50};
  EXPECT_EQ(ledger.Admit(before, 8), Ledger::Admission::kUnknown);
  ledger.Adopt("a", 50, 1, 60);
  EXPECT_EQ(ledger.Admit(before, 8), Ledger::Admission::kNew);
  EXPECT_EQ(ledger.Admit(before, 8), Ledger::Admission::kDuplicate);
  ledger.CountTrained(before);
  ledger.NoteProduced(before, 9);
  const LedgerCounts total = ledger.Total();
  EXPECT_EQ(total.produced, 9U);
  EXPECT_EQ(total.trained, 1U);
  EXPECT_EQ(total.lost, 8U);     // What the learner before did with them is gone with it.
  ledger.Adopt("a", 50, 7, 60);  // Said again, or by somebody else: nothing changes.
  EXPECT_EQ(ledger.Admit(before, 8), Ledger::Admission::kDuplicate);
  EXPECT_EQ(ledger.Join("a", 1, 70), before);
}

// What a peer says must not get a number in that the next learner could not read back.
TEST(Ledger, ItsTextCanAlwaysBeReadBack) {
  Ledger ledger;
  const ActorKey actor = ledger.Join("a", 1, 60);
  constexpr uint64_t kStride = 1'000'000;
  uint64_t sequence = kStride;
  while (ledger.Admit(actor, sequence) == Ledger::Admission::kNew) sequence += kStride;
  EXPECT_GT(sequence, uint64_t{1} << 40);
  ledger.NoteProduced(actor, sequence);
  Ledger resumed;
  resumed.FromJson(ledger.ToJson());
  EXPECT_EQ(resumed.ToJson(), ledger.ToJson());
}

TEST(Ledger, BoundsNamesAndIncarnations) {
  Ledger ledger;
  uint64_t nonce = 0;
  while (ledger.HasRoomFor("a", nonce)) ledger.Join("a", nonce++, 60);
  EXPECT_EQ(nonce, 10'000U);
  EXPECT_TRUE(ledger.HasRoomFor("a", 7));  // It has joined before.
  EXPECT_TRUE(ledger.HasRoomFor("b", 7));
}

TEST(Ledger, AdoptsNoIncarnationOfTheFutureNorAnyNumberOfThem) {
  Ledger ledger;
  ledger.Join("a", 1, 1000);
  ledger.Adopt("a", 0xFFFFFFFF, 2, 1000);
  EXPECT_EQ(ledger.Admit({0, 0xFFFFFFFF}, 1), Ledger::Admission::kUnknown);
  EXPECT_EQ(ledger.Join("a", 3, 1001).incarnation, 1001U);  // It went on from the clock.
  int adopted = 0;
  for (uint32_t number = 1; number <= 500; ++number) {
    ledger.Adopt("a", number, number, 1001);
    adopted += ledger.Admit({0, number}, 1) == Ledger::Admission::kNew ? 1 : 0;
  }
  EXPECT_EQ(adopted, 100);
}

TEST(Ledger, WhatIsUnderWayIsNewerThanAnythingThatCame) {
  Ledger ledger;
  const ActorKey actor = ledger.Join("a", 1, 1);
  ledger.NoteProduced(actor, 10);
  EXPECT_EQ(ledger.UnderWay(actor), 10U);
  EXPECT_EQ(ledger.Newest(actor), 0U);
  EXPECT_EQ(ledger.Admit(actor, 7), Ledger::Admission::kNew);  // 1 to 6 got lost on the way.
  EXPECT_EQ(ledger.UnderWay(actor), 3U);
  EXPECT_EQ(ledger.Newest(actor), 7U);
  ledger.NoteProduced(actor, 9);  // An old heartbeat changes nothing.
  EXPECT_EQ(ledger.UnderWay(actor), 3U);
  EXPECT_EQ(ledger.UnderWay({5, 5}), 0U);
  EXPECT_EQ(ledger.Newest({5, 5}), 0U);
}

// A gap early on must neither grow the state nor ever stop the actor from being heard.
TEST(Ledger, MemoryStaysBoundedOverMillionsOfEpisodes) {
  Ledger ledger;
  const ActorKey actor = ledger.Join("a", 1, 1);
  constexpr uint64_t kEpisodes = 2'500'000;
  for (uint64_t sequence = 2; sequence <= kEpisodes; ++sequence) {
    ASSERT_EQ(ledger.Admit(actor, sequence), Ledger::Admission::kNew);
  }
  EXPECT_LT(ledger.ToJson().size(), 1000U);
  EXPECT_EQ(ledger.Admit(actor, 1), Ledger::Admission::kNew);  // Late, and still welcome.

  const ActorKey patchy = ledger.Join("b", 1, 1);
  for (uint64_t sequence = 2; sequence < 20'000; sequence += 2) ledger.Admit(patchy, sequence);
  EXPECT_LT(ledger.ToJson().size(), 40'000U);
  EXPECT_EQ(ledger.Admit(patchy, 19'997), Ledger::Admission::kNew);
  EXPECT_EQ(ledger.Admit(patchy, 1), Ledger::Admission::kDuplicate);  // Too late: nobody remembers that it is missing.
}

// The whole life of a run against sets of numbers: actors start, die and return, messages are lost and repeated, the
// learner saves its state, is killed, and goes on from what was saved.
TEST(Ledger, BalancesWhateverDiesWhenever) {
  struct Process {
    std::string name;
    ActorKey key;
    uint64_t produced = 0;
    bool alive = true;
  };
  // What the learner knows, by the plainest means.
  struct Model {
    std::map<ActorKey, std::set<uint64_t>> received;
    std::map<ActorKey, uint64_t> produced;
    std::map<std::string, std::set<ActorKey>> keys_of;
    uint64_t trained = 0, stale = 0, rejected = 0;
  };
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Rng rng(seed);
    auto ledger = std::make_unique<Ledger>();
    Model model;
    std::string saved = ledger->ToJson();
    Model saved_model;
    std::vector<Process> processes;
    std::vector<std::pair<ActorKey, uint64_t>> sent;  // Any of it may come at any time, more than once.
    uint64_t nonce = 0;
    int64_t now = 1000;
    const auto join = [&](Process& process) {
      process.key = ledger->Join(process.name, ++nonce, now);
      process.produced = 0;
      model.keys_of[process.name].insert(process.key);
      model.produced.try_emplace(process.key, 0);
    };
    for (int event = 0; event < 400; ++event) {
      now += rng.UniformInt(0, 2);
      Process* const some =
          processes.empty() ? nullptr : &processes[static_cast<size_t>(rng.UniformInt(0, std::ssize(processes) - 1))];
      switch (rng.UniformInt(0, 19)) {
        case 0: {  // A process starts, perhaps in the place of one that died.
          processes.push_back({"actor-" + std::to_string(rng.UniformInt(0, 2)), {}});
          join(processes.back());
          break;
        }
        case 1:
          if (some) some->alive = false;
          break;
        case 2:
          saved = ledger->ToJson();
          saved_model = model;
          break;
        case 3: {  // The learner is killed and resumed; who is alive joins again.
          if (rng.UniformInt(0, 4) != 0) break;
          now += 5;
          ledger = std::make_unique<Ledger>();
          ledger->FromJson(saved);
          model = saved_model;
          for (Process& process : processes) {
            if (process.alive) join(process);
          }
          break;
        }
        case 4:
        case 5:
          if (some && some->alive && model.produced.contains(some->key)) {
            ledger->NoteProduced(some->key, some->produced);
            uint64_t& produced = model.produced[some->key];
            produced = std::max(produced, some->produced);
          }
          break;
        case 6:
        case 7:
        case 8:
        case 9:
        case 10:
          if (some && some->alive) sent.emplace_back(some->key, ++some->produced);
          break;
        default: {
          if (sent.empty()) break;
          const auto [key, sequence] = sent[static_cast<size_t>(
              rng.UniformInt(std::max<int64_t>(0, std::ssize(sent) - 6), std::ssize(sent) - 1))];
          const Ledger::Admission admission = ledger->Admit(key, sequence);
          if (!model.produced.contains(key)) {  // It joined after the state was saved.
            ASSERT_EQ(admission, Ledger::Admission::kUnknown);
            break;
          }
          const bool fresh = model.received[key].insert(sequence).second;
          ASSERT_EQ(admission, fresh ? Ledger::Admission::kNew : Ledger::Admission::kDuplicate);
          if (!fresh) break;
          model.produced[key] = std::max(model.produced[key], sequence);
          switch (rng.UniformInt(0, 5)) {
            case 0:
              ledger->CountStale(key);
              ++model.stale;
              break;
            case 1:
              ledger->CountRejected(key);
              ++model.rejected;
              break;
            case 2:
              break;  // Still waits in the buffer.
            default:
              ledger->CountTrained(key);
              ++model.trained;
          }
        }
      }
      const LedgerCounts total = ledger->Total();
      ASSERT_EQ(total.trained, model.trained);
      ASSERT_EQ(total.stale, model.stale);
      ASSERT_EQ(total.rejected, model.rejected);
      uint64_t produced = 0;
      for (const auto& [key, count] : model.produced) produced += count;
      ASSERT_EQ(total.produced, produced);
      ExpectBalanced(total);
    }
    LedgerCounts sum;
    for (const auto& [name, counts] : ledger->ByActor()) {
      ExpectBalanced(counts);
      sum += counts;
      uint64_t produced = 0;
      for (const ActorKey& key : model.keys_of[name]) produced += model.produced[key];
      EXPECT_EQ(counts.produced, produced);
    }
    ExpectEqual(sum, ledger->Total());
  }
}

TEST(Ledger, ReadsBackWhatItWrote) {
  Ledger ledger;
  const ActorKey a = ledger.Join("a", ~uint64_t{0}, 10);
  const ActorKey b = ledger.Join("b", 2, 10);
  for (const uint64_t sequence : {1U, 2U, 5U, 9U}) ledger.Admit(a, sequence);
  ledger.CountTrained(a);
  ledger.CountRejected(a);
  ledger.NoteProduced(b, 3);
  Ledger copy;
  copy.FromJson(ledger.ToJson());
  EXPECT_EQ(copy.ToJson(), ledger.ToJson());
  ExpectEqual(copy.Total(), ledger.Total());
  EXPECT_EQ(copy.Join("a", ~uint64_t{0}, 99), a);
  EXPECT_EQ(copy.Admit(a, 5), Ledger::Admission::kDuplicate);
  EXPECT_EQ(copy.Admit(a, 7), Ledger::Admission::kNew);
}

TEST(Ledger, MeasuredEpisodesAreMarkedBesides) {
  Ledger ledger;
  const ActorKey a = ledger.Join("a", 1, 10);
  for (const uint64_t sequence : {1U, 2U, 3U}) ledger.Admit(a, sequence);
  ledger.CountMeasured(a, false);
  ledger.CountMeasured(a, true);
  ledger.CountTrained(a);
  ledger.CountTrained(a);
  ledger.CountStale(a);
  Ledger copy;
  copy.FromJson(ledger.ToJson());
  for (const LedgerCounts& counts : {ledger.Total(), copy.Total(), copy.ByActor().at("a")}) {
    EXPECT_EQ(counts.measured, 2U);
    EXPECT_EQ(counts.measured_again, 1U);
    EXPECT_EQ(counts.produced, counts.trained + counts.stale + counts.rejected + counts.lost);
  }
  EXPECT_TRUE(IsRefused(R"([{"name": "a", "incarnations": [{"incarnation": 1, "nonce": 1, "highest": 2, "produced": 2,
      "trained": 0, "stale": 0, "rejected": 0, "gaps": [], "measured": 1, "measured_again": 2}]}])"));
}

TEST(Ledger, TheSummaryIsTheFileOfTheRunDirectory) {
  Ledger ledger;
  const ActorKey a = ledger.Join("a", 1, 10);
  ledger.Join("a", 2, 20);
  ledger.Admit(a, 1);
  ledger.Admit(a, 3);
  ledger.CountTrained(a);
  ledger.CountStale(a);
  const auto counts = nlohmann::json{{"produced", 3}, {"trained", 1},  {"stale", 1},         {"rejected", 0},
                                     {"lost", 1},     {"measured", 0}, {"measured_again", 0}};
  auto of_actor = counts;
  of_actor["incarnations"] = 2;
  EXPECT_EQ(nlohmann::json::parse(ledger.Summary()),
            (nlohmann::json{{"total", counts}, {"actors", {{"a", of_actor}}}}));
}

TEST(Ledger, DamagedStateIsRefusedWhole) {
  Ledger ledger;
  const ActorKey a = ledger.Join("a", 1, 10);
  ledger.Admit(a, 2);
  ledger.CountTrained(a);
  const std::string good = ledger.ToJson();
  const auto broken = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in " << text;
    return text.replace(at, from.size(), to);
  };
  for (const std::string& text :
       {good.substr(0, good.size() / 2), broken("\"produced\":2", "\"produced\":0"),
        broken("\"highest\":2", "\"highest\":3"), broken("\"nonce\"", "\"once\""),
        broken("\"name\":\"a\"", "\"name\":1"), broken("\"gaps\":[[1,1]]", "\"gaps\":[[1]]"),
        // A number that is none of a count, one that would wrap around, and one that no run reaches.
        broken("\"produced\":2", "\"produced\":-1"), broken("\"stale\":0", "\"stale\":0.5"),
        broken("\"stale\":0", "\"stale\":18446744073709551615"),
        broken("\"produced\":2", "\"produced\":18446744073709551615"),
        // More used than have come: the next to come would be one too many, which the ledger takes for a bug of ours.
        broken("\"trained\":1", "\"trained\":2"), broken("[[1,1]]", "[[1,2]]"), broken("[[1,1]]", "[[1,1],[1,1]]"),
        broken("[[1,1]]", "[[0,1]]"), std::string("{}"),
        "[" + good.substr(1, good.size() - 2) + "," + good.substr(1)}) {
    Ledger other;
    other.Join("kept", 1, 1);
    const std::string before = other.ToJson();
    try {
      other.FromJson(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
      EXPECT_THAT(error.what(), testing::StartsWith("ledger"));
      EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
    }
    EXPECT_EQ(other.ToJson(), before);
  }
}

}  // namespace
}  // namespace emplace
