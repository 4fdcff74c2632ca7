// Two results with planted differences, and files that are none.
#include "clients/cli/results/comparison.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/load/figures/sweep.h"
#include "clients/load/report.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

load::RunResult ResultOf(uint64_t answered, uint64_t ns) {
  load::RunResult result;
  load::OperationTally& lookups = result.tally.operations[0];
  lookups.answered = answered;
  lookups.keys = 10 * answered;
  lookups.latency.Add(ns, answered);
  result.seconds = 2;
  return result;
}

load::ReportContext ContextOf(const std::string& keys, const std::string& seed) {
  return {.target = "here",
          .version = "0.1.0",
          .commit = "abc",
          .build = "Release",
          .flags = {{"workload", "lookup"}, {"keys", keys}, {"seed", seed}}};
}

load::Plan LookupPlan() {
  load::Plan plan;
  plan.workload = *load::FindWorkload("lookup");
  return plan;
}

std::string JsonOf(const std::string& keys, const std::string& seed, uint64_t answered,
                   uint64_t ns) {
  return load::ToJson(LookupPlan(), ContextOf(keys, seed), ResultOf(answered, ns)).DumpLines();
}

std::string SweepOf(uint64_t answered) {
  std::vector<load::SweepRun> runs{{.plan = LookupPlan(), .result = ResultOf(answered, 1000)}};
  runs.push_back(
      {.percent = 50, .plan = *load::PlanAt(runs[0], 50), .result = ResultOf(answered / 2, 500)});
  return load::SweepToJson(ContextOf("5", "1"), runs).Dump();
}

BenchResult Parsed(const std::string& name, const std::string& json) {
  absl::StatusOr<BenchResult> result = ParseBenchResult(name, json);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : BenchResult{};
}

const Comparison::Figure& FigureOf(const Comparison& comparison, const std::string& run,
                                   const std::string& operation, const std::string& name) {
  for (const Comparison::Figure& one : comparison.figures) {
    if (one.run == run && one.operation == operation && one.name == name) return one;
  }
  ADD_FAILURE() << run << operation << name;
  return comparison.figures.front();
}

TEST(ComparisonTest, ARatioIsTheSecondByTheFirst) {
  const BenchResult a = Parsed("a.json", JsonOf("5", "1", 100, 1000));
  const BenchResult b = Parsed("b.json", JsonOf("5", "1", 150, 3000));
  const auto comparison = Compare(a, b);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_TRUE(comparison->comparable());
  EXPECT_THAT(comparison->settings, IsEmpty());
  EXPECT_THAT(Warnings(*comparison, a, b), IsEmpty());
  const Comparison::Figure& rate = FigureOf(*comparison, "", "lookup", "requests_per_second");
  EXPECT_EQ(rate.a, 50.0);
  EXPECT_EQ(rate.b, 75.0);
  EXPECT_DOUBLE_EQ(*rate.ratio(), 1.5);
  EXPECT_NEAR(*FigureOf(*comparison, "", "all", "p99_us").ratio(), 3, 0.05);
  EXPECT_NEAR(*FigureOf(*comparison, "", "all", "max_us").ratio(), 3, 1e-9);
  const std::string text = ToText(*comparison);
  EXPECT_THAT(text, HasSubstr("A: a.json\nB: b.json\n\nall settings are the same\n"));
  EXPECT_THAT(text, HasSubstr("B/A\n"));
  EXPECT_THAT(text, HasSubstr("1.500"));
  const Json json = ToJson(*comparison);
  EXPECT_EQ(json["comparable"], true);
  EXPECT_EQ(json["figures"].size(), 2u * 9);
  EXPECT_EQ(json["figures"][0]["metric"], "requests_per_second");
  EXPECT_EQ(json["figures"][0]["ratio"], 1.5);
  EXPECT_TRUE(json["figures"][0]["run"].is_null());
}

TEST(ComparisonTest, OtherSettingsAreShownAndSomeMakeItNoComparison) {
  const BenchResult a = Parsed("a.json", JsonOf("5", "1", 100, 1000));
  const BenchResult seed = Parsed("b.json", JsonOf("5", "2", 100, 1000));
  const auto same = Compare(a, seed);
  ASSERT_TRUE(same.ok());
  ASSERT_EQ(same->settings.size(), 1u);
  EXPECT_EQ(same->settings[0].name, "seed");
  EXPECT_TRUE(same->comparable());
  EXPECT_THAT(Warnings(*same, a, seed), IsEmpty());
  EXPECT_THAT(ToText(*same), HasSubstr("seed     1  2\n"));

  const BenchResult keys = Parsed("b.json", JsonOf("6", "1", 100, 1000));
  const auto other = Compare(a, keys);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->comparable());
  const std::vector<std::string> warnings = Warnings(*other, a, keys);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "not comparable: other keys 5 and 6");

  BenchResult elsewhere = a;
  for (auto& [name, value] : elsewhere.settings) {
    if (name == "cpu") value = "another";
  }
  elsewhere.settings.emplace_back("connections", "2");
  const auto moved = Compare(a, elsewhere);
  ASSERT_TRUE(moved.ok());
  EXPECT_THAT(Warnings(*moved, a, elsewhere)[0], HasSubstr(" and another"));
  EXPECT_THAT(Warnings(*moved, a, elsewhere)[0], HasSubstr("other connections not given and 2"));
}

TEST(ComparisonTest, FiguresOfOneFileAloneHaveNoRatio) {
  const BenchResult a = Parsed("a.json", JsonOf("5", "1", 100, 1000));
  BenchResult b = a;
  b.metrics.push_back({"", "scan", "p50_us", 7});
  b.metrics[0].value = 0;
  b.failed = 3;
  const auto comparison = Compare(a, b);
  ASSERT_TRUE(comparison.ok());
  const Comparison::Figure& scan = FigureOf(*comparison, "", "scan", "p50_us");
  EXPECT_FALSE(scan.a.has_value());
  EXPECT_FALSE(scan.ratio().has_value());
  EXPECT_EQ(comparison->figures.front().ratio(), 0.0);
  EXPECT_FALSE(Compare(b, a)->figures.front().ratio().has_value());
  EXPECT_THAT(Warnings(*comparison, a, b)[0], HasSubstr("a.json has 0 wrong answers and 3 failed"));
}

TEST(ComparisonTest, SweepsAreComparedShareByShare) {
  const BenchResult a = Parsed("a.json", SweepOf(100)), b = Parsed("b.json", SweepOf(200));
  EXPECT_TRUE(a.sweep);
  const auto comparison = Compare(a, b);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_DOUBLE_EQ(*FigureOf(*comparison, "peak", "all", "requests_per_second").ratio(), 2);
  EXPECT_DOUBLE_EQ(*FigureOf(*comparison, "50 %", "lookup", "keys_per_second").ratio(), 2);
  const BenchResult run = Parsed("run.json", JsonOf("5", "1", 100, 1000));
  for (const auto& status : {Compare(a, run).status(), Compare(run, a).status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("a.json is a sweep, run.json is a single run"));
  }
}

TEST(ResultFileTest, WhatIsNoResultIsRefusedByFileAndField) {
  const std::string good = JsonOf("5", "1", 100, 1000);
  const auto without = [&](const std::string& field) {
    std::string text = good;
    const size_t at = text.find(absl::StrCat("\"", field, "\""));
    EXPECT_NE(at, text.npos) << field;
    return text.replace(at + 1, 1, "_");  // now another name
  };
  const std::pair<std::string, const char*> cases[] = {
      {"", "x.json is no JSON"},
      {"{\"format\": 1", "x.json is no JSON"},
      {std::string(5000, '['), "x.json is no JSON"},
      {"[1]", "x.json is no JSON object"},
      {"{}", "x.json has no field format"},
      {"{\"format\": \"1\"}", "x.json has a field format that is no count"},
      {"{\"format\": 2}", "has the field format 2, and this eris reads 1"},
      {"{\"format\": 1}", "x.json has no field workload"},
      {without("cpu"), "x.json has no field machine.cpu"},
      {without("flags"), "x.json has no field flags"},
      {without("p50_us"), "x.json has no field p50_us"},
      {without("failed"), "x.json has no field failed"},
  };
  for (const auto& [text, words] : cases) {
    const absl::Status status = ParseBenchResult("x.json", text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << words;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
  std::string kind = good;
  kind.replace(kind.find("\"p50_us\"", kind.find("\"operations\"")), 8, "\"p_us\"");
  EXPECT_THAT(std::string(ParseBenchResult("x", kind).status().message()),
              HasSubstr("x has no field operations.lookup.p50_us"));
  std::string sweep = SweepOf(100);
  sweep.replace(sweep.find("\"percent\""), 9, "\"share\"");
  EXPECT_THAT(std::string(ParseBenchResult("x", sweep).status().message()),
              HasSubstr("x has no field sweep[0].percent"));
  EXPECT_TRUE(absl::IsNotFound(ReadBenchResult("/nowhere/x.json").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadBenchResult("/").status()));
}

}  // namespace
}  // namespace eris::cli
