// The report of a sweep, and which shares are refused.
#include "clients/load/figures/sweep.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tests/unit/load/some_run.h"

namespace eris::load {
namespace {

std::vector<SweepRun> SomeSweep() {
  std::vector<SweepRun> runs{{.plan = SomePlan(0), .result = SomeResult()}};
  for (const uint32_t percent : {50, 100}) {
    SweepRun run{.percent = percent, .plan = *PlanAt(runs[0], percent), .result = SomeResult()};
    run.result.tally.operations[0].not_sent = percent;
    runs.push_back(std::move(run));
  }
  return runs;
}

TEST(SweepTest, SharesAreNumbersWithinTheirLimits) {
  EXPECT_EQ(*ParseShares("50,70,90,100"), (std::vector<uint32_t>{50, 70, 90, 100}));
  EXPECT_EQ(*ParseShares("200"), (std::vector<uint32_t>{200}));
  for (const char* text : {"", "0", "201", "50,", "50, x", "-5", "1.5", "lookup"}) {
    const absl::Status status = ParseShares(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat("'", text, "'"))) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "1 to 200")) << status;
  }
  std::string many = "1";
  for (size_t i = 0; i < kSharesMax; ++i) many += ",1";
  EXPECT_TRUE(
      absl::StrContains(ParseShares(many).status().message(), "has 51 percentages; at most 50"));
}

TEST(SweepTest, RatesAreSharesOfThePeak) {
  SweepRun peak{.plan = SomePlan(0), .result = SomeResult()};  // 200 requests in 2 s
  EXPECT_DOUBLE_EQ(PlanAt(peak, 70)->rate, 70);
  peak.result.tally = {};
  const absl::Status status = PlanAt(peak, 70).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "answered 0 requests/s")) << status;
}

TEST(SweepTest, TheTableHasALineForEachRate) {
  const std::string table = SweepToTable({.target = "here"}, SomeSweep());
  const std::vector<std::string> lines = absl::StrSplit(table, '\n');
  ASSERT_EQ(lines.size(), 11u) << table;
  EXPECT_TRUE(absl::StrContains(lines[0], "a of bench at here")) << lines[0];
  EXPECT_TRUE(absl::StartsWith(lines[4], "share")) << lines[4];
  EXPECT_TRUE(absl::StrContains(lines[4], "p99.99")) << lines[4];
  EXPECT_TRUE(
      absl::StartsWith(lines[5], "peak               -         100          1000         0"))
      << lines[5];
  EXPECT_TRUE(
      absl::StartsWith(lines[6], "50 %              50         100          1000        50"))
      << lines[6];
  EXPECT_TRUE(absl::StartsWith(lines[7], "100 %            100")) << lines[7];
  EXPECT_EQ(lines[9], "wrong 0, failed 0, refused 0");
}

TEST(SweepTest, JsonHasThePeakAndEachShare) {
  const Json json = SweepToJson({.flags = {{"sweep", "50,100"}}}, SomeSweep());
  EXPECT_EQ(json["format"], kReportFormat);
  EXPECT_EQ(json["flags"]["sweep"], "50,100");
  EXPECT_EQ(json["peak"]["requests_per_second"], 100.0);
  EXPECT_FALSE(json["peak"].contains("service"));
  ASSERT_EQ(json["sweep"].size(), 2u);
  EXPECT_EQ(json["sweep"][0]["percent"], 50);
  EXPECT_EQ(json["sweep"][0]["rate"], 50.0);
  EXPECT_EQ(json["sweep"][1]["not_sent"], 100);
  EXPECT_TRUE(json["sweep"][1]["operations"]["lookup"].contains("service"));
  EXPECT_EQ(json["sweep"][1]["series"].size(), 2u);
}

TEST(SweepTest, CsvHasTheSameColumnsForEachRun) {
  const std::vector<std::string> lines =
      absl::StrSplit(SweepToCsv(SomeSweep()), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 1u + 3 * 3);
  EXPECT_TRUE(absl::StartsWith(lines[0], "percent,rate,operation,answered,")) << lines[0];
  const size_t columns = std::vector<std::string>(absl::StrSplit(lines[0], ',')).size();
  for (const std::string& line : lines) {
    EXPECT_EQ(std::vector<std::string>(absl::StrSplit(line, ',')).size(), columns) << line;
  }
  EXPECT_TRUE(absl::StartsWith(lines[1], ",,lookup,100,")) << lines[1];
  EXPECT_TRUE(absl::StartsWith(lines[6], "50,50.0,all,200,")) << lines[6];
  EXPECT_TRUE(absl::StartsWith(lines[9], "100,100.0,all,200,")) << lines[9];
}

}  // namespace
}  // namespace eris::load
