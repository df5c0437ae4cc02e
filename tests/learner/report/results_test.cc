#include "learner/report/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/files/file_io.h"
#include "tests/learner/episodes.h"

namespace emplace {
namespace {

using testing::HasSubstr;
using testing::Not;

class Results : public testing::Test {
 protected:
  Results() {
    workload_.train = TwoDeviceTasks(1, 2);
    workload_.validation = TwoDeviceTasks(2, 1);
    workload_.test = TwoDeviceTasks(3, 2);
  }

  nlohmann::json Summary() {
    return nlohmann::json::parse(WriteResults(SmallPolicy(1), workload_, PlacerOptions(), totals_, out_));
  }
  void CountEpisodes(int measured, int simulated) {
    const ActorKey actor = ledger_.Join("a", 1, 1);
    for (int i = 0; i < measured + simulated; ++i) {
      EXPECT_EQ(ledger_.Admit(actor, static_cast<uint64_t>(i + 1)), Ledger::Admission::kNew);
      if (i < measured) ledger_.CountMeasured(actor, i == 0);
      ledger_.CountTrained(actor);
    }
    totals_.ledger = ledger_.Total();
  }
  std::string PrintedLedger() {
    PrintLedger(ledger_, totals_.front_end, out_);
    return Printed();
  }
  std::string Printed() {
    EXPECT_TRUE(out_.Flush(std::chrono::seconds(10)));
    std::rewind(file_.get());
    std::string text(1 << 16, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file_.get()));
    return text;
  }

  Workload workload_;
  RunTotals totals_;
  Ledger ledger_;

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), &std::fclose};
  LineWriter out_{::fileno(file_.get())};
};

TEST_F(Results, AreOfNoValidationGraphsWhereTheTrainingGraphsStandInForThem) {
  EXPECT_EQ(Summary().at("validation").at("graphs"), 1);
  EXPECT_THAT(Printed(), HasSubstr("\nvalidation "));
  workload_.validation = workload_.train;
  workload_.choice = VersionChoice::kLast;
  const nlohmann::json summary = Summary();
  EXPECT_EQ(summary.at("train").at("graphs"), 2);
  EXPECT_TRUE(summary.at("train").at("policy").is_number());
  EXPECT_EQ(summary.at("validation"),
            nlohmann::json::parse(R"({"graphs": 0, "start": null, "policy": null, "infeasible": 0})"));
}

TEST_F(Results, SaysNothingOfMeasuredRewardsWhereAllActorsSimulate) {
  CountEpisodes(0, 3);
  EXPECT_FALSE(Summary().contains("measured"));
  EXPECT_THAT(PrintedLedger(), Not(HasSubstr("measured")));
}

TEST_F(Results, CountsMeasuredEpisodes) {
  CountEpisodes(2, 3);
  EXPECT_EQ(Summary().at("measured"), 2);
  EXPECT_EQ(Summary().at("measured_again"), 1);
  EXPECT_THAT(PrintedLedger(),
              HasSubstr("\nwith measured rewards: 2 of 5, of which another actor has measured 1 again"));
}

TEST_F(Results, SaysThatNoEpisodeOfAHardwareActorCame) {
  CountEpisodes(0, 3);
  totals_.front_end.actors.any_measured = true;
  EXPECT_EQ(Summary().at("measured"), 0);
  EXPECT_THAT(PrintedLedger(), HasSubstr("\nwith measured rewards: 0 of 3, though hardware actors have joined"));
}

}  // namespace
}  // namespace emplace
