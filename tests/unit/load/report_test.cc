// The shape of what programs read.
#include "clients/load/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_split.h"
#include "tests/unit/load/some_run.h"

namespace eris::load {
namespace {

double NumberOf(const Json& json) { return std::stod(json.Dump()); }

TEST(ReportTest, JsonHasTotalsKindsSeriesMachineAndFlags) {
  const Json json = ToJson(SomePlan(0),
                           {.target = "null",
                            .version = "1.2",
                            .commit = "abc",
                            .build = "Release",
                            .flags = {{"keys", "5"}}},
                           SomeResult());
  EXPECT_EQ(json["format"], kReportFormat);
  EXPECT_EQ(json["workload"], "a");
  EXPECT_EQ(json["version"], "1.2");
  EXPECT_EQ(json["commit"], "abc");
  EXPECT_EQ(json["seed"], 42);
  EXPECT_EQ(json["flags"]["keys"], "5");
  EXPECT_GT(NumberOf(json["machine"]["cpus"]), 0);
  EXPECT_EQ(json["requests"], 200);
  EXPECT_EQ(json["answered"], 200);
  EXPECT_EQ(json["requests_per_second"], 100.0);
  EXPECT_EQ(json["keys_per_second"], 1000.0);
  EXPECT_EQ(json["operations"].size(), 2u);
  EXPECT_EQ(json["operations"]["upsert"]["answered"], 100);
  EXPECT_NEAR(NumberOf(json["p50_us"]), 50, 0.5);
  EXPECT_EQ(json["max_us"], 100.0);
  EXPECT_FALSE(json.contains("service"));
  ASSERT_EQ(json["series"].size(), 2u);
  EXPECT_EQ(json["series"][0]["requests_per_second"], 90.0);
  for (const char* name : {"refused", "failed", "wrong", "cut_off", "cut_off_begun_unix_ns",
                           "cut_off_rows", "first_error", "not_sent", "p99_99_us"}) {
    EXPECT_TRUE(json.contains(name)) << name;
  }
}

TEST(ReportTest, TheOpenLoopShowsTheServiceTimeToo) {
  const Json json = ToJson(SomePlan(100), {}, SomeResult());
  EXPECT_NEAR(NumberOf(json["service"]["p50_us"]), 25, 0.3);
  EXPECT_NEAR(NumberOf(json["operations"]["lookup"]["service"]["p99_us"]), 49.5, 0.5);
  EXPECT_NE(ToTable(SomePlan(100), {}, SomeResult()).find("service time"), std::string::npos);
  EXPECT_EQ(ToTable(SomePlan(0), {}, SomeResult()).find("service time"), std::string::npos);
}

TEST(ReportTest, CsvHasAHeaderALineForEachKindAndOneForAll) {
  RunResult result = SomeResult();
  result.tally.operations[0].not_sent = 5;
  result.tally.failed = 3;
  result.tally.refused = 4;
  result.tally.backlog = 6;
  for (const double rate : {0.0, 100.0}) {
    const std::vector<std::string> lines =
        absl::StrSplit(ToCsv(SomePlan(rate), result), '\n', absl::SkipEmpty());
    ASSERT_EQ(lines.size(), 4u);
    const std::vector<std::string> titles = absl::StrSplit(lines[0], ',');
    EXPECT_EQ(titles[0], "operation");
    EXPECT_NE(std::find(titles.begin(), titles.end(), "p99_99_us"), titles.end());
    EXPECT_EQ(std::find(titles.begin(), titles.end(), "service_p50_us") != titles.end(), rate > 0);
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::vector<std::string> cells = absl::StrSplit(lines[i], ',');
      EXPECT_EQ(cells.size(), titles.size()) << lines[i];
    }
    const auto cell = [&](size_t line, const char* title) {
      const auto place = std::find(titles.begin(), titles.end(), title) - titles.begin();
      return std::vector<std::string>(absl::StrSplit(lines[line], ',')).at(place);
    };
    EXPECT_EQ(cell(1, "not_sent"), "5");
    EXPECT_EQ(cell(3, "not_sent"), "5");
    const std::pair<const char*, const char*> of_all[] = {
        {"failed", "3"}, {"refused", "4"}, {"backlog_max", "6"}};
    for (const auto& [title, value] : of_all) {
      EXPECT_EQ(cell(1, title), "");
      EXPECT_EQ(cell(3, title), value);
    }
    EXPECT_EQ(lines[1].rfind("lookup,", 0), 0u);
    EXPECT_EQ(lines[2].rfind("upsert,", 0), 0u);
    EXPECT_EQ(lines[3].rfind("all,", 0), 0u);
  }
}

TEST(ReportTest, BusyGeneratorsAndABacklogAreTold) {
  RunResult result = SomeResult();
  EXPECT_TRUE(Remarks(SomePlan(100), {}, result).empty());
  result.cpu = {0.3, 0.95};
  ASSERT_EQ(Remarks(SomePlan(100), {}, result).size(), 1u);
  EXPECT_NE(Remarks(SomePlan(100), {}, result)[0].find("95 %"), std::string::npos);
  ReportContext null_target;
  null_target.null_target = true;
  EXPECT_TRUE(Remarks(SomePlan(100), null_target, result).empty());
  result.cpu = {};
  const Plan plan = SomePlan(100);
  uint64_t& not_sent = result.tally.operations[0].not_sent;
  not_sent = result.tally.backlog = plan.slots();  // no more than what is under way
  EXPECT_TRUE(Remarks(plan, {}, result).empty());
  result.tally.backlog = 0;
  not_sent = 77;
  ASSERT_EQ(Remarks(SomePlan(100), {}, result).size(), 1u);
  EXPECT_NE(Remarks(SomePlan(100), {}, result)[0].find("77 were never sent"), std::string::npos);
}

}  // namespace
}  // namespace eris::load
