#include "tools/report/report_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "policy/config/run_config.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;
using ::testing::HasSubstr;

class ReportDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "emplace_report_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A run with evaluations at 0 and 10 s, which ended at test_ratio.
  std::string AddRun(const std::string& folder, const std::string& name, uint64_t seed, double test_ratio) {
    const fs::path path = folder_ / folder;
    MakeFolder(path);
    RunConfig config;
    config.name = name;
    config.seed = seed;
    WriteFileAtomically(path / "config.yaml", RunConfigToYaml(config));
    WriteFileAtomically(
        path / "metrics.jsonl",
        StrCat("{\"kind\":\"evaluation\",\"update\":0,\"seconds\":0,\"test_ratio\":1}\n",
               "{\"kind\":\"evaluation\",\"update\":5,\"seconds\":10,\"test_ratio\":", test_ratio, "}\n"));
    return path.string();
  }
  std::string ReportError(const ReportInputs& inputs) {
    return BadInputOf([&] { CollectReport(inputs); });
  }

  fs::path folder_;
};

TEST_F(ReportDataTest, RunsOfOneNameGetABand) {
  const std::string a = AddRun("a", "ptb", 1, 0.8);
  const std::string b = AddRun("b", "other", 1, 0.5);
  const std::string c = AddRun("c", "ptb", 2, 0.6);
  const OrderedJson report = CollectReport({.sources = {a, b, c}});
  ASSERT_EQ(report["runs"].size(), 3u);
  EXPECT_EQ(report["runs"][2]["seed"], 2);
  EXPECT_TRUE(report["runs"][0]["ledger"].is_null());
  ASSERT_EQ(report["run_groups"].size(), 2u);
  EXPECT_EQ(report["run_groups"][0]["runs"], (OrderedJson{0, 2}));
  EXPECT_TRUE(report["run_groups"][1]["bands"].is_null());
  const OrderedJson band = report["run_groups"][0]["bands"]["seconds"]["test_ratio"];
  EXPECT_EQ(band["x"], (OrderedJson{0.0, 10.0}));
  EXPECT_EQ(band["low"], (OrderedJson{1.0, 0.6}));
  EXPECT_EQ(band["high"], (OrderedJson{1.0, 0.8}));
  EXPECT_DOUBLE_EQ(band["mean"][1].get<double>(), 0.7);
  EXPECT_TRUE(report["placed"].is_null());
}

TEST_F(ReportDataTest, BadInputSaysWhichPathAndWhatWasExpected) {
  const std::string run = AddRun("a", "ptb", 1, 0.8);
  EXPECT_THAT(ReportError({.sources = {"nowhere"}}), HasSubstr("nowhere: does not exist, expected a run directory"));
  EXPECT_THAT(ReportError({.sources = {folder_.string()}}), HasSubstr("without config.yaml, expected a run directory"));
  EXPECT_THAT(ReportError({.sources = {run}, .graph = "g"}), HasSubstr("expected all three or none"));
  WriteFileAtomically(fs::path(run) / "ledger.json", "[]");
  EXPECT_THAT(ReportError({.sources = {run}}), HasSubstr("ledger.json: is [], expected an object"));
  WriteFileAtomically(fs::path(run) / "metrics.jsonl", "damaged\n{}\n");
  EXPECT_THAT(ReportError({.sources = {run}}), HasSubstr("metrics.jsonl:1: damaged"));
}

}  // namespace
}  // namespace emplace
